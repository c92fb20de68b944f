#!/usr/bin/env python3
"""Paddle 3's files on the command line: every command takes them, by folder, by prefix and by file, and a damaged one is answered with one
line and exit code 2.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

import collection
import octet_side

MEMORY = 1 << 30  # address space, far above what the small model needs
CHECKPOINT = "import paddle, sys; paddle.save(paddle.vision.models.mobilenet_v3_small(num_classes=4).state_dict(), sys.argv[1])"


class ModelTestCase(collection.PaddleTestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="octet-parity-")
        self.addCleanup(temporary.cleanup)
        self.out = pathlib.Path(temporary.name)
        self.folder = self.out / "model"
        octet_side.convert(collection.FOLDER / "small", self.folder, "paddle3")
        self.feed = {"x": np.random.default_rng(4).normal(0, 1, [2, 3, 64, 64]).astype(np.float32)}
        np.save(self.out / "x.npy", self.feed["x"])

    def octet(self, *arguments):
        result = octet_side.call(*arguments, timeout=300)
        self.assertEqual(result.returncode, 0, f"octet {' '.join(map(str, arguments))}\n{result.stderr[-1000:]}")
        return result.stdout

    def outputs(self, model):
        """Of the feed, by the names that the model itself has for them."""
        names = [output["name"] for output in json.loads(self.octet("info", "--model", model, "--json"))["outputs"]]
        return list(octet_side.run(model, self.feed, names).values())


class CommandsTest(ModelTestCase):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        for i in range(12):
            picture = self.out / "pictures" / "val" / f"class{i % 3}" / f"{i}.png"
            picture.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, [64, 64, 3], np.uint8)).save(picture)
        self.spellings = [self.folder, self.folder / "inference", self.folder / "inference.json"]

    def test_info_run_bench_compare(self):
        for model in self.spellings:
            with self.subTest(model=model.name):
                self.assertIn("inference.json", self.octet("info", "--model", model))
                self.octet("run", "--model", model, "--input", f"x={self.out}/x.npy", "--output", self.out / "y.npy")
                self.octet("bench", "--model", model, "--input", "1x3x64x64", "--runs", 2, "--warmup", 1)
                self.octet("compare", "--model", model, "--baseline", collection.FOLDER / "small", "--input", f"x={self.out}/x.npy")

    def test_pictures(self):
        pictures = ["--resize-size", 0, "--crop-size", 64]
        for model in self.spellings:
            with self.subTest(model=model.name):
                self.octet("infer", "--model-dir", model, "--img-path", self.out / "pictures", *pictures)
                self.octet("eval", "--model-path", model, "--data-dir", self.out / "pictures", *pictures)
                self.octet("ptq", "--model-path", model, "--data-dir", self.out / "x.npy", "--output-dir", self.out / "int8", "--format", "paddle3", "--fast")
                self.assertIn("quantized", self.octet("info", "--model", self.out / "int8"))
                self.octet("eval", "--model-path", self.out / "int8", "--baseline", model, "--data-dir", self.out / "pictures", *pictures)
        self.octet("qat", "--model-dir", self.folder, "--data-dir", self.out / "pictures", "--epochs", 1, "--batch-size", 4, "--output-dir", self.out / "qat", "--format", "paddle3", *pictures)
        self.assertIn("quantized", self.octet("info", "--model", self.out / "qat" / "inference.json"))

    def test_export(self):
        subprocess.run([sys.executable, "-c", CHECKPOINT, self.out / "net.pdparams"], check=True, capture_output=True)
        self.octet("export", "--model", "mobilenet_v3_small", "--pretrained", self.out / "net", "--save-inference-dir", self.out / "exported", "--format", "paddle3",
                   "--img-size", 64)
        self.assertIn("inference.json", self.octet("info", "--model", self.out / "exported"))

    def test_every_format_becomes_every_other(self):
        expected = self.outputs(self.folder)
        files = {"paddle3": self.folder, "paddle": self.out / "paddle", "onnx": self.out / "model.onnx"}
        for format in ("paddle", "onnx"):
            self.octet("convert", "--model", self.folder, "--output", files[format], "--format", format)
        for source, model in files.items():
            for format in files:
                with self.subTest(source=source, to=format):
                    other = self.out / f"{source}-{format}{'.onnx' if format == 'onnx' else ''}"
                    self.octet("convert", "--model", model, "--output", other, "--format", format)
                    for found, reference in zip(self.outputs(other), expected):
                        self.assertLessEqual(np.abs(found - reference).max(), 1e-5 * np.abs(reference).max())

    def test_precedence(self):
        """As in Paddle the new file counts where both are there; the older one is still there by its name."""
        for file in collection.FOLDER.joinpath("small").glob("inference.pd*"):
            shutil.copy(file, self.folder)
        octet_side.convert(self.folder, self.folder, "paddle3")
        for model in (self.folder, self.folder / "inference"):
            self.assertIn("inference.json", self.octet("info", "--model", model))
        self.assertIn("inference.pdmodel", self.octet("info", "--model", self.folder / "inference.pdmodel"))

    def test_an_older_file_is_not_written_beside_a_new_one(self):
        """The new one would be taken for it, with the parameters of the other."""
        before = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        result = octet_side.call("convert", "--model", collection.FOLDER / "small_kl_old", "--output", self.folder, "--format", "paddle")
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"\Aoctet: error: .*inference\.json.*\n\Z")
        self.assertEqual({file.name: file.read_bytes() for file in self.folder.iterdir()}, before)


def edited(change):
    """A damage that goes through the parsed program."""

    def damage(text):
        program = json.loads(text)
        change(program["program"]["regions"][0]["blocks"][0]["ops"], program)
        return json.dumps(program, separators=(",", ":"))

    return damage


def first(ops, name):
    return next(op for op in ops if op["#"] == name)


def set_attr(ops, op, name, value):
    next(attr for attr in first(ops, op)["A"] if attr["N"] == name)["AT"]["D"] = value


DAMAGES = {
    "empty": lambda text: "",
    "cut_early": lambda text: text[:200],
    "cut_in_the_middle": lambda text: text[:len(text) // 2],
    "cut_at_the_end": lambda text: text[:-1],
    "something_behind": lambda text: text + "{}",
    "no_json": lambda text: text.replace(":[", ":(", 5),
    "other_magic": lambda text: text.replace('"pir"', '"pit"'),
    "no_version": lambda text: text.replace('"version":1', '"version":{}'),
    "nested_deep": lambda text: text.replace('"args":[]', '"args":' + "[" * 100000, 1),
    "large_number": lambda text: text.replace('"%":2', '"%":1e999', 1),
    "number_of_200_digits": lambda text: text.replace('"%":2', '"%":' + "9" * 200, 1),
    "half_a_character": lambda text: text.replace('"#":"1.relu"', '"#":"\\ud800"', 1),
    "control_character": lambda text: text.replace("inference", "infer\nence").replace('"N":"groups"', '"N":"gro\nups"', 1),
    "no_ops": lambda text: text[:text.index('"ops"')] + '"ops":[]}]}]}}',
    "no_region": lambda text: text[:text.index('"regions"')] + '"regions":[]}}',
    "two_blocks": edited(lambda ops, program: program["program"]["regions"][0]["blocks"].append(program["program"]["regions"][0]["blocks"][0])),
    "op_without_name": edited(lambda ops, program: ops[-2].pop("#")),
    "defined_twice": edited(lambda ops, program: ops.insert(-2, first(ops, "1.conv2d"))),
    "used_before_definition": edited(lambda ops, program: ops.insert(0, ops.pop())),
    "unknown_value": edited(lambda ops, program: first(ops, "1.conv2d")["I"].__setitem__(0, {"%": 99999})),
    "too_few_inputs": edited(lambda ops, program: first(ops, "1.conv2d")["I"].pop()),
    "no_outputs": edited(lambda ops, program: [ops.remove(op) for op in list(ops) if op["#"] == "1.fetch"]),
    "unknown_op": edited(lambda ops, program: first(ops, "1.conv2d").__setitem__("#", "1.no_such_op")),
    "strides_of_zero": edited(lambda ops, program: set_attr(ops, "1.conv2d", "strides", [{"#": "0.a_i32", "D": 0}] * 2)),
    "strides_of_text": edited(lambda ops, program: set_attr(ops, "1.conv2d", "strides", "two")),
    "huge_padding": edited(lambda ops, program: set_attr(ops, "1.conv2d", "paddings", [{"#": "0.a_i32", "D": 1 << 40}] * 2)),
    "many_groups": edited(lambda ops, program: set_attr(ops, "1.conv2d", "groups", 1 << 60)),
    "input_without_name": edited(lambda ops, program: set_attr(ops, "1.data", "name", "")),
    "parameters_of_one_name": edited(lambda ops, program: [op["A"].__setitem__(3, "w") for op in ops if op["#"] == "p"]),
    "parameter_without_name": edited(lambda ops, program: first(ops, "p")["A"].__setitem__(3, "")),
    "one_parameter_more": edited(lambda ops, program: ops.insert(0, json.loads(json.dumps(first(ops, "p")).replace('"%": ', '"%": 9999').replace(first(ops, "p")["A"][3], "more")))),
    "one_parameter_less": edited(lambda ops, program: ops.remove(first(ops, "p"))),
}
PARAMETERS = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-1],
    "cut_in_the_middle": lambda data: data[:len(data) // 2],
    "more": lambda data: data + b"\0",
    "noise": lambda data: bytes(np.random.default_rng(6).integers(0, 256, len(data), np.uint8)),
}


class DamageTest(ModelTestCase):
    def check_refused(self, model):
        result = octet_side.call("run", "--model", model, "--input", f"x={self.out}/x.npy", "--output", self.out / "y.npy", timeout=30, memory=MEMORY)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertRegex(result.stderr, r"\Aoctet: error: [^\n]*\n\Z")
        self.assertLess(len(result.stderr), 1000)

    def test_programs(self):
        file = self.folder / "inference.json"
        text = file.read_text()
        for name, damage in DAMAGES.items():
            with self.subTest(name):
                damaged = damage(text)
                self.assertNotEqual(damaged, text)
                file.write_text(damaged)
                self.check_refused(file)

    def test_parameters(self):
        file = self.folder / "inference.pdiparams"
        data = file.read_bytes()
        for name, damage in PARAMETERS.items():
            with self.subTest(name):
                file.write_bytes(damage(data))
                self.check_refused(self.folder)
        file.unlink()
        self.check_refused(self.folder)


if __name__ == "__main__":
    collection.main()
