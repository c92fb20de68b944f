#!/usr/bin/env python3
"""Paddle 3's files in Paddle 3.3: small networks and a few real ones. The others, and other releases, are in paddle3_networks_test.py and
paddle3_releases_test.py, which `make test-paddle3` runs.
"""

import os
import pathlib
import shutil
import subprocess

import numpy as np

import collection
import octet_side
import paddle3_checks
import paddle3_models
from paddle3_checks import feeds_of, made

OPS_TOOL = os.environ.get("OCTET_PADDLE3_OPS_TOOL") or pathlib.Path(octet_side.PROGRAM).parent / "octet_paddle3_ops_tool"


class ExportTest(paddle3_checks.ExportChecks):
    def test_synchronised_batch_norm(self):
        """Paddle has no such op on CPUs; at inference it is the other one."""
        folder, feeds = self.folder / "rare_ops", feeds_of("rare_ops")
        shutil.copytree(folder, self.out / "model")
        text = (folder / "inference.json").read_text()
        (self.out / "model" / "inference.json").write_text(text.replace('"1.batch_norm_"', '"1.sync_batch_norm_"'))
        names = paddle3_checks.names_of_outputs(folder)
        for feed in feeds:
            self.assert_close(octet_side.run(self.out / "model", feed, names).values(), octet_side.run(folder, feed, names).values(), 0)

    def test_every_op_is_in_a_network(self):
        """Each op that octet reads is in a network that these tests compare with Paddle."""
        known = set(subprocess.run([OPS_TOOL], capture_output=True, text=True, check=True).stdout.split())
        used = {"1.sync_batch_norm_"}  # above
        for folder in [self.folder / name for name in self.networks] + [quantized() / name for name in paddle3_models.QUANTIZED] + [
                TranslationTest.made() / name for name in TranslationTest.networks]:
            used |= {op["#"] for op in paddle3_checks.ops_of(folder)}
        self.assertEqual(known - used, set())
        self.assertGreater(len(known), 80)


class QuantizedTest(paddle3_checks.Paddle3Checks):
    """Files of Paddle 3's own quantization tools. Paddle 3.3 runs its own files wrong, so the outputs of before they were saved count."""

    def check_quantized(self, name):
        folder = quantized() / name
        with np.load(folder / "reference.npz") as reference:
            feed, expected = {"x": reference["x"]}, [reference["y"]]
        self.assert_close(octet_side.run(folder, feed, ["fetch_name_0"]).values(), expected, paddle3_checks.TOLERANCE)
        self.check_same_bytes(folder)
        # What octet writes anew Paddle runs as well; but its predictor fails on weights that are quantized in the run, in its own files, too.
        octet_side.convert(folder, self.out / "older", "paddle")
        octet_side.convert(self.out / "older", self.out / "new", "paddle3")
        self.assert_close(self.paddle3.run_static(self.out / "new", [feed])[0], expected, paddle3_checks.TOLERANCE)
        if name != "qat":
            self.assert_close(self.paddle3.run(self.out / "new", [feed], True)[0].values(), expected, paddle3_checks.TOLERANCE)
        self.assert_close(octet_side.run(self.out / "new", feed, ["fetch_name_0"]).values(), expected, paddle3_checks.TOLERANCE)


def quantized():
    return made("quantize", paddle3_models.QUANTIZED)


class TranslationTest(paddle3_checks.TranslationChecks):
    pass


class ConversionTest(paddle3_checks.ConversionChecks):
    def test_without_parameters(self):
        """Over files that have some, of which no record may stay behind."""
        shutil.copytree(collection.FOLDER / "small", self.out / "model")
        octet_side.convert(self.out / "model", self.out / "model", "paddle3")
        folder = made("export", paddle3_models.SMALL) / "branching"
        octet_side.convert(folder, self.out / "model", "paddle3")
        feeds = feeds_of("branching")
        self.assert_close(self.paddle3.run(self.out / "model", feeds)[0].values(), self.paddle3.run(folder, feeds)[0].values(), 0)
        self.assertEqual(octet_side.call("info", "--model", self.out / "model").returncode, 0)


paddle3_checks.add_tests(ExportTest, "export", paddle3_models.SMALL)
paddle3_checks.add_tests(QuantizedTest, "quantized", paddle3_models.QUANTIZED)
paddle3_checks.add_tests(TranslationTest, "translation", paddle3_checks.SMALL_TRANSLATED)
paddle3_checks.add_tests(ConversionTest, "conversion", paddle3_checks.SMALL_FLOAT)
paddle3_checks.add_tests(ConversionTest, "quantized", paddle3_checks.SMALL_QUANTIZED)

if __name__ == "__main__":
    collection.main()
