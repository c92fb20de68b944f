#!/usr/bin/env python3
"""What octet loads and saves unchanged is the same to Paddle: parameters to the byte, program op for op, outputs to the bit."""

import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

import cases
import collection
import octet_side
import paddle_side

REWRITE_TOOL = os.environ.get("OCTET_REWRITE_TOOL")


class RoundTripTest(collection.PaddleTestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="octet-parity-")
        self.addCleanup(self.temporary.cleanup)
        self.out = pathlib.Path(self.temporary.name) / "model"

    def check_convert(self, folder):
        octet_side.convert(folder, self.out)
        self.assertEqual(pathlib.Path(paddle_side.model_paths(self.out)[1]).read_bytes(), pathlib.Path(paddle_side.model_paths(folder)[1]).read_bytes())
        self.assertTrue(self.paddle.same_program(folder, self.out))
        for name, found, expected in self.outputs(folder):
            with self.subTest(output=name):
                np.testing.assert_array_equal(found, expected)

    def check_rewrite(self, folder):
        """Every op written anew from the graph, none from the bytes that were read: Paddle still computes the same."""
        result = subprocess.run([REWRITE_TOOL, folder, self.out], timeout=120, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        for name, found, expected in self.outputs(folder):
            with self.subTest(output=name):
                self.assertEqual(found.shape, expected.shape)
                self.assertEqual(found.dtype, expected.dtype)
                self.assertLessEqual(np.abs(found - expected).max(initial=0), 1e-6 * np.abs(expected).max(initial=0))

    def test_older_names(self):
        """__model__ and __params__ are the same bytes under other names."""
        folder = collection.FOLDER / "small_kl_old"
        older = pathlib.Path(self.temporary.name) / "older"
        older.mkdir()
        shutil.copyfile(folder / "inference.pdmodel", older / "__model__")
        shutil.copyfile(folder / "inference.pdiparams", older / "__params__")
        octet_side.convert(older, self.out)
        for name in ("inference.pdmodel", "inference.pdiparams"):
            self.assertEqual((self.out / name).read_bytes(), (folder / name).read_bytes())

    def test_unknown_op(self):
        """An op that octet does not know is written back as it was."""
        folder = pathlib.Path(self.temporary.name) / "unknown"
        shutil.copytree(collection.FOLDER / "small", folder)
        program = folder / "inference.pdmodel"
        known = program.read_bytes()
        program.write_bytes(known.replace(b"\x1a\nbatch_norm", b"\x1a\nbatch_gnom"))
        self.assertNotEqual(program.read_bytes(), known)
        octet_side.convert(folder, self.out)
        self.assertEqual((self.out / "inference.pdmodel").read_bytes(), program.read_bytes())

    def outputs(self, folder):
        """(name, output of the model that octet wrote, of the original), matched by position: a writer may rename outputs."""
        feed = cases.feeds(folder)[-1:]
        expected, found = self.paddle.run(folder, feed)[0], self.paddle.run(self.out, feed)[0]
        self.assertEqual(len(found), len(expected))
        return [(name, f, e) for (name, e), f in zip(expected.items(), found.values())]


for model in collection.names():
    for method in ("convert", "rewrite") if REWRITE_TOOL else ("convert",):
        setattr(RoundTripTest, f"test_{method}_{model}",
                lambda self, folder=collection.FOLDER / model, method=method: getattr(self, f"check_{method}")(folder))

if __name__ == "__main__":
    collection.main()
