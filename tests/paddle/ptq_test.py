#!/usr/bin/env python3
"""octet ptq: PaddleSlim's thresholds for each algorithm, and models that Paddle computes as octet does."""

import functools
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import numpy as np

import cases
import collection
import layers
import objectives
import octet_side
import pictures
import ptq_models
import quant_models
import quantized_checks

BATCH, PICTURES = 4, 24  # as quant_models.py calibrates
TOLERANCE = 1e-5
SINGLE_PASS = 1e-2
OBJECTIVE = 1e-3


def case_of(source):
    """The case of a model that was quantized from `source`: how to make its pictures."""
    return next(cases.load(collection.FOLDER / name) for name, case in ptq_models.CASES.items() if case[0] == source)


@functools.lru_cache(maxsize=None)
def calibration(source):
    return quant_models.calibration(case_of(source), PICTURES)


class PtqTestCase(quantized_checks.QuantizedChecks):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.temporary = tempfile.TemporaryDirectory(prefix="octet-parity-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)

    def ptq(self, source, name, *flags):
        """Quantizes a model on the pictures that PaddleSlim had; returns the folder, which is a case as PaddleSlim's are."""
        data, out = self.folder / f"{source}.npy", self.folder / name
        if not data.exists():
            pictures = calibration(source)
            np.save(data, np.concatenate([pictures, pictures[:2]]))  # two more to judge by, so that none are held out
        result = octet_side.call("ptq", "--model_path", collection.FOLDER / source, "--output_dir", out, "--data_dir", data, "--batch_size", BATCH,
                                 "--batch_num", PICTURES // BATCH, "--save_model_filename", "inference.pdmodel", "--save_params_filename",
                                 "inference.pdiparams", *flags)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"\Aoctet: notice: what was done to the pictures is not known.*\n(octet: warning: the int8 model .* Try --algo auto.*\n)?\Z")
        (out / "case.json").write_text((collection.FOLDER / f"{source}_hist_onnx" / "case.json").read_text())
        return out

    def scales(self, folder):
        """The thresholds of activations (name -> number), and the weights (name -> integers and scale of each channel)."""
        program, parameters = self.paddle.program(folder), self.paddle.parameters(folder)
        activations, weights = {}, {}
        for op in program.ops:
            if layers.is_quantizer(op, program):
                activations[op.input("X")] = parameters[op.input("Scale" if op.type == "quantize_linear" else "InScale")].item()
            if op.type == "dequantize_linear" and op.input("X") in program.persistable:
                weights[op.input("X")] = parameters[op.input("X")], parameters[op.input("Scale")].ravel()
            if op.type == "fake_channel_wise_dequantize_max_abs":
                layer = next(o for o in program.ops if op.input("X") in sum(o.outputs.values(), []))
                weight = next(n for names in layer.inputs.values() for n in names if n in program.persistable)
                weights[weight] = parameters[weight], parameters[op.inputs["Scales"][0]].ravel()
        return activations, weights

    def float_tensors(self, source, names):
        """The tensors of the float model in each batch."""
        parts = np.split(calibration(source), PICTURES // BATCH)
        return [self.paddle.tensors(collection.FOLDER / source, {"x": part}, names) | {"x": part} for part in parts]


class ScalesTest(PtqTestCase):
    """With two passes: what PaddleSlim saves for the same data."""

    def check_scales(self, name):
        source, algo, onnx_format = ptq_models.CASES[name]
        expected, expected_weights = self.scales(collection.FOLDER / name)
        found, found_weights = self.scales(self.ptq(source, name, "--deploy", "paddle", "--two_pass", "--bias_correction", "False", "--algo", algo,
                                                    "--onnx_format", onnx_format))
        self.assertGreater(len(expected), 5)
        self.assertEqual(set(found), set(expected))
        self.assertEqual(set(found_weights), set(expected_weights))
        other = [tensor for tensor in expected if abs(found[tensor] - expected[tensor]) > TOLERANCE * expected[tensor]]
        if algo == "emd" and other:
            self.check_ties(source, {tensor: found[tensor] for tensor in other})
        else:
            self.assertEqual([(tensor, found[tensor], expected[tensor]) for tensor in other], [])
        for weight, (integers, scales) in expected_weights.items():
            with self.subTest(weight=weight):
                self.assertEqual(found_weights[weight][0].dtype, integers.dtype)
                np.testing.assert_array_equal(found_weights[weight][0], integers)
                np.testing.assert_allclose(found_weights[weight][1], scales, rtol=TOLERANCE)

    def check_ties(self, source, thresholds):
        """emd compares means, so one value that rounds to the other side can make another candidate the best one."""
        batches = self.float_tensors(source, [name for name in thresholds if name != "x"])
        for name, threshold in thresholds.items():
            with self.subTest(tensor=name):
                losses = objectives.emd_losses([batch[name] for batch in batches])
                least = min(loss for _, loss, _ in losses)
                own = min((loss for t, loss, flip in losses if abs(t - threshold) <= TOLERANCE * t and loss <= least + flip), default=None)
                self.assertIsNotNone(own, f"{threshold} is not among the best")


for name in ptq_models.CASES:
    setattr(ScalesTest, f"test_{name}", lambda self, name=name: self.check_scales(name))


class SinglePassTest(PtqTestCase):
    """One pass over the data, with a histogram that grows."""

    def check_thresholds(self, name):
        source, algo, _ = ptq_models.CASES[name]
        expected, _ = self.scales(collection.FOLDER / name)
        found, _ = self.scales(self.ptq(source, f"single_{name}", "--deploy", "paddle", "--bias_correction", "False", "--algo", algo))
        batches = self.float_tensors(source, [n for n in expected if n != "x"]) if algo in ("KL", "mse") else []
        for tensor, threshold in expected.items():
            with self.subTest(tensor=tensor):
                if algo == "KL":
                    own, least = objectives.compare(objectives.kl_divergences([b[tensor] for b in batches]), found[tensor])
                    self.assertLessEqual(own, least * (1 + OBJECTIVE))
                elif algo == "mse":
                    own, least = objectives.compare(objectives.mse_losses([b[tensor] for b in batches]), found[tensor])
                    self.assertLessEqual(own, least * (1 + OBJECTIVE))
                else:
                    self.assertLessEqual(abs(found[tensor] - threshold), SINGLE_PASS * threshold)


for name, (_, algo, onnx_format) in ptq_models.CASES.items():
    if onnx_format and algo != "emd":
        setattr(SinglePassTest, f"test_{name}", lambda self, name=name: self.check_thresholds(name))


class OwnModelsTest(PtqTestCase):
    """octet's own int8 files in Paddle and in octet."""

    def check_model(self, source, deploy, onnx_format):
        folder = self.ptq(source, f"{source}_{deploy}_{onnx_format}", "--deploy", deploy, "--onnx_format", onnx_format)
        self.check_quantizers(folder)
        self.check_layers(folder)
        self.check_pictures(folder)
        self.check_exactness(folder)


for source in ("small", "mobilenet_v3_small", "ocr_cls"):
    for deploy in ("octet", "paddle"):
        for onnx_format in (True, False):
            setattr(OwnModelsTest, f"test_{source}_{deploy}_{'onnx' if onnx_format else 'old'}",
                    lambda self, case=(source, deploy, onnx_format): self.check_model(*case))


class FileTest(PtqTestCase):
    def test_the_same_bytes_with_any_number_of_threads(self):
        for flags in ([], ["--algo", "KL", "--round_type", "adaround"], ["--two_pass", "--algo", "hist"]):
            files = []
            for threads in (1, 2, 3):
                folder = self.ptq("small", f"threads_{threads}", "--threads", threads, *flags)
                files.append([(folder / file).read_bytes() for file in ("inference.pdmodel", "inference.pdiparams")])
            for other in files[1:]:
                with self.subTest(flags=flags):
                    self.assertEqual(files[0], other)

    def test_a_quarter_of_the_size(self):
        """The parameters of int8 models: a byte for each weight, and little else."""
        folder = self.ptq("mobilenet_v3_small", "size")
        sizes = [(f / "inference.pdiparams").stat().st_size for f in (folder, collection.FOLDER / "mobilenet_v3_small")]
        self.assertLessEqual(sizes[0], 0.27 * sizes[1])


class BadInputTest(PtqTestCase):
    """One clear line each, exit code 2 for errors."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="octet-parity-")
        self.addCleanup(temporary.cleanup)
        self.pictures, self.out = pathlib.Path(temporary.name, "pictures"), pathlib.Path(temporary.name, "out")
        self.pictures.mkdir()

    def add_pictures(self, good, broken):
        for i in range(good + broken):
            file = self.pictures / f"{i}.jpg"
            pictures.photo(i).resize((80, 72)).save(file)
            if i >= good:
                file.write_bytes(file.read_bytes()[:150])

    def arguments(self, *flags, source="small"):
        return ["ptq", "--model_path", collection.FOLDER / source, "--data_dir", self.pictures, "--output_dir", self.out, "--resize-size", 64,
                "--crop-size", 64, "--batch_size", 2, "--batch_num", 3, *flags]

    def check_error(self, arguments, *parts):
        result = octet_side.call(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr.splitlines()[-1], r"\Aoctet: error: [^\n]+\Z")
        self.assertEqual(result.stderr.count("octet: error:"), 1)
        for part in parts:
            self.assertIn(part, result.stderr.splitlines()[-1])
        self.assertFalse(self.out.exists())

    def check_warning(self, arguments, *parts):
        result = octet_side.call(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line for line in result.stderr.splitlines() if line.startswith("octet: warning:")]
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])
        self.assertEqual(octet_side.call("info", self.out).returncode, 0)

    def test_good_pictures(self):
        self.add_pictures(6, 0)
        result = octet_side.call(*self.arguments())
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_an_empty_folder(self):
        self.check_error(self.arguments(), self.pictures.name)

    def test_no_such_folder(self):
        self.check_error(self.arguments("--data_dir", self.pictures / "none"), "none")

    def test_a_broken_picture(self):
        self.add_pictures(5, 1)
        self.check_warning(self.arguments(), "5.jpg")

    def test_most_are_broken(self):
        self.add_pictures(2, 4)
        self.check_error(self.arguments(), "4 of 6")

    def test_too_few_batches(self):
        self.add_pictures(6, 0)
        self.check_warning(self.arguments("--batch_num", 50), "50", "has 6")

    def test_quantized_already(self):
        self.add_pictures(6, 0)
        for source in ("small_kl_onnx", "small_kl_old", "small_qat_pact"):
            with self.subTest(source):
                self.check_error(self.arguments(source=source), "quantized")

    def test_flags(self):
        self.add_pictures(6, 0)
        for flags in (["--algo", "entropy"], ["--hist_percent", "1.5"], ["--round_type", "up"], ["--weight_bits", "16"], ["--deploy", "moon"],
                      ["--weight_quantize_type", "none"], ["--activation_quantize_type", "none"], ["--quantizable_op_type", "no_such_op"],
                      ["--load_stats", "none.json"]):
            with self.subTest(flags):
                self.check_error(self.arguments(*flags), flags[1])

    def test_killed(self):
        """At any moment: there is no model, or a whole one; and nothing else, unless it could not clean up."""
        self.add_pictures(6, 0)
        start = time.monotonic()
        self.assertEqual(octet_side.call(*self.arguments()).returncode, 0)
        seconds = time.monotonic() - start
        shutil.rmtree(self.out)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for share in np.linspace(0.05, 1.1, 10):
                process = subprocess.Popen([octet_side.PROGRAM, *map(str, self.arguments())], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(share * seconds)
                process.send_signal(number)
                process.wait()
                with self.subTest(signal=number, share=share):
                    files = {file.name for file in self.out.iterdir()} if self.out.exists() else set()
                    if {"__model__", ".octet-commit"} & files:  # with the journal the files are there, under other names until someone looks
                        self.assertEqual(octet_side.call("info", self.out).returncode, 0)
                    elif number != signal.SIGKILL:
                        self.assertEqual(files, set())
                shutil.rmtree(self.out, ignore_errors=True)


if __name__ == "__main__":
    collection.main()
