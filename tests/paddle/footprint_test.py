#!/usr/bin/env python3
"""A 100 MB model takes at most twice its size in memory, and opens in about the time of reading its file."""

import os
import subprocess
import tempfile
import time

import numpy as np

import collection
import octet_side

OVERHEAD = 24 << 20  # the program itself, its libraries, and the activations of a small picture


def measure(*arguments):
    """Runs octet; returns seconds and peak resident bytes."""
    start = time.monotonic()
    with subprocess.Popen([octet_side.PROGRAM, *map(str, arguments)], stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise AssertionError(f"octet {arguments[0]}: exit code {process.returncode}")
    return time.monotonic() - start, usage.ru_maxrss * 1024


class FootprintTest(collection.PaddleTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = collection.FOLDER / "resnet50"
        cls.size = sum(file.stat().st_size for file in cls.model.iterdir())
        assert cls.size > 100e6, cls.size

    def test_open(self):
        start = time.monotonic()
        for file in self.model.iterdir():
            file.read_bytes()
        read = time.monotonic() - start
        runs = [measure("info", self.model) for _ in range(3)]
        self.assertLess(max(peak for _, peak in runs), 2 * self.size)
        self.assertLess(min(seconds for seconds, _ in runs), 0.3 + 3 * read)  # the slack is for a busy machine

    def test_run(self):
        with tempfile.TemporaryDirectory(prefix="octet-parity-") as folder:
            np.save(f"{folder}/x.npy", np.zeros([1, 3, 32, 32], np.float32))
            _, peak = measure("run", "--model", self.model, "--input", f"{folder}/x.npy", "--output", f"{folder}/y.npy")
        self.assertLess(peak, 2 * self.size + OVERHEAD)

    def test_convert(self):
        with tempfile.TemporaryDirectory(prefix="octet-parity-") as folder:
            _, peak = measure("convert", "--model", self.model, "--output", f"{folder}/out")
        self.assertLess(peak, 2 * self.size + OVERHEAD)


if __name__ == "__main__":
    collection.main()
