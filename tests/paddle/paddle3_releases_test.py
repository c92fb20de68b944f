#!/usr/bin/env python3
"""What octet writes as Paddle 3's files loads in every release from 3.0 to 3.3 and gives the same answers in all of its ways.

    paddle3_releases_test.py [--release 3.3.1]... [TEST]...

`make test-paddle3` runs it for all releases; those before the one of the other tests get environments of their own (environments.py).
"""

import subprocess
import sys

import numpy as np

import cases
import collection
import environments
import octet_side
import paddle3_checks
import quant_models
import quantized_checks
import run_paddle3

THIS = "3.3.1"  # the one that all other tests use, in tools/requirements.txt


class ReleasesTest(paddle3_checks.Paddle3Checks):
    def run_in(self, release, folder, feeds, ways):
        """For each way the outputs of each feed."""
        python = sys.executable if release == THIS else environments.python_of(release)
        np.savez(self.out / "feeds.npz", **run_paddle3.pack(feeds))
        command = [python, run_paddle3.__file__, folder, self.out / "feeds.npz", self.out / "found.npz", *ways]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", timeout=600)
        if result.returncode != 0:
            raise AssertionError(f"Paddle {release}: exit code {result.returncode}\n{result.stderr[-2000:]}")
        found = {}
        with np.load(self.out / "found.npz") as arrays:
            for key in arrays:
                way, feed, _ = key.split(" ")
                found.setdefault(way, [[] for _ in feeds])[int(feed)].append(arrays[key])
        self.assertEqual(list(found), list(ways))
        return found

    def check_float(self, release, name):
        folder, feeds = collection.FOLDER / name, cases.feeds(collection.FOLDER / name)[-2:]
        octet_side.convert(folder, self.out / "new", "paddle3")
        expected = self.paddle.run(folder, feeds)
        ways = [way for way in run_paddle3.WAYS if name not in paddle3_checks.MERGED or not way.startswith("inference")]
        for way, results in self.run_in(release, self.out / "new", feeds, ways).items():
            for result, reference in zip(results, expected):
                with self.subTest(way=way):
                    self.assert_close(result, reference.values(), paddle3_checks.TOLERANCE)

    def check_quantized(self, release, name):
        folder, case = collection.FOLDER / name, cases.load(collection.FOLDER / name)
        octet_side.convert(folder, self.out / "new", "paddle3")
        pictures = cases.tensor(case["pictures"], [quantized_checks.PICTURES, *case["evaluation"]], seed=900)
        feeds = [{"x": part} for part in np.split(pictures, 4)]
        output = self.paddle.program(folder).fetches[0]
        expected = np.concatenate([octet_side.run(folder, feed, [output])[output] for feed in feeds])
        for way, results in self.run_in(release, self.out / "new", feeds, list(run_paddle3.WAYS)).items():
            with self.subTest(way=way):
                self.check_answers(np.concatenate([result[0] for result in results]), expected)


def main():
    releases = []
    while "--release" in sys.argv:
        at = sys.argv.index("--release")
        releases.append(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    for release in releases or (*environments.RELEASES, THIS):
        for kind, names in (("float", paddle3_checks.FLOAT), ("quantized", quant_models.MODELS)):
            for name in names:
                setattr(ReleasesTest, f"test_{release.replace('.', '_')}_{name}",
                        lambda self, kind=kind, release=release, name=name: getattr(self, f"check_{kind}")(release, name))
    collection.main()


if __name__ == "__main__":
    main()
