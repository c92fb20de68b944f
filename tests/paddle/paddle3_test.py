#!/usr/bin/env python3
"""Paddle 3's files: octet computes what Paddle does, writes back what it read, and what it writes Paddle runs."""

import hashlib
import pathlib
import shutil
import tempfile

import numpy as np

import cases
import collection
import float_models
import octet_side
import op_models
import paddle3_models
import paddle_side
import quant_models
import quantized_checks

TOLERANCE = 1e-4  # of the largest output
SAME = 1e-6  # the same ops, perhaps in other words
SHAPES = {"every_op": [[2, 4, 6, 8], [1, 4, 9, 5]], "recurrent": [[2, 7, 6]], "branching": [[3, 6]]}
CARRIED = ("recurrent", "branching")  # with ops that octet does not compute
FLOAT = [name for name in (*float_models.MODELS, *op_models.MODELS) if name != "op_quantize"]
# Equal ops are merged by Paddle's predictor, which then finds only one of their outputs.
MERGED = ("op_activation",)
NOT_TRANSLATED = ("op_resize",)  # Paddle does not translate the oldest resizing ops
TRANSLATED = [name for name in FLOAT if name not in MERGED + NOT_TRANSLATED]


def feeds_of(name):
    rng = np.random.default_rng(8)
    return [{"x": rng.normal(0, 1, shape).astype(np.float32)} for shape in SHAPES.get(name, [[1, 3, 96, 64], [2, 3, 64, 64]])]


class Paddle3TestCase(quantized_checks.QuantizedChecks):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.paddle3 = paddle_side.Paddle(pir=True)
        cls.addClassCleanup(cls.paddle3.close)

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="octet-parity-")
        self.addCleanup(temporary.cleanup)
        self.out = pathlib.Path(temporary.name)

    def assert_close(self, found, expected, tolerance):
        found, expected = list(found), list(expected)
        self.assertEqual(len(found), len(expected))
        for i, (f, e) in enumerate(zip(found, expected)):
            with self.subTest(output=i):
                self.assertEqual((f.shape, f.dtype), (e.shape, e.dtype))
                if e.dtype == np.float32:
                    self.assertTrue(np.isfinite(e).all(), "Paddle's own output is not finite")
                    self.assertLessEqual(np.abs(f - e).max(initial=0), tolerance * np.abs(e).max(initial=0))
                else:
                    np.testing.assert_array_equal(f, e)

    def check_same_bytes(self, folder):
        octet_side.convert(folder, self.out / "same", "paddle3")
        for file in ("inference.json", "inference.pdiparams"):
            if (folder / file).exists() and (folder / file).stat().st_size > 0:
                self.assertEqual((self.out / "same" / file).read_bytes(), (folder / file).read_bytes())

    def check_file(self, folder, feeds):
        """A file that Paddle wrote."""
        expected = self.paddle3.run(folder, feeds)
        for feed, reference in zip(feeds, expected):
            self.assert_close(octet_side.run(folder, feed, list(reference)).values(), reference.values(), TOLERANCE)
        self.check_same_bytes(folder)
        # Through the older format, which leaves nothing of the original text.
        octet_side.convert(folder, self.out / "older", "paddle")
        octet_side.convert(self.out / "older", self.out / "again", "paddle3")
        self.assert_close(self.paddle3.run(self.out / "again", feeds[-1:])[0].values(), expected[-1].values(), SAME)
        self.assert_close(self.paddle.run(self.out / "older", feeds[-1:])[0].values(), expected[-1].values(), SAME)


class ExportTest(Paddle3TestCase):
    """Networks that Paddle exported."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = made("export", paddle3_models.NETWORKS)

    def check_export(self, name):
        folder, feeds = self.folder / name, feeds_of(name)
        if name in CARRIED:
            self.check_same_bytes(folder)
            self.assert_close(self.paddle3.run(self.out / "same", feeds)[0].values(), self.paddle3.run(folder, feeds)[0].values(), 0)
        else:
            self.check_file(folder, feeds)


class StaticTest(Paddle3TestCase):
    """The networks again, built and saved as static programs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = made("static", paddle3_models.STATIC)

    def check_static(self, name):
        self.check_file(self.folder / name, feeds_of(name)[-1:])


class TranslationTest(Paddle3TestCase):
    """The older models, translated by Paddle."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = made("translate", [collection.FOLDER / name for name in TRANSLATED])

    def check_translation(self, name):
        self.check_file(self.folder / name, cases.feeds(collection.FOLDER / name)[-2:])


class ConversionTest(Paddle3TestCase):
    """The older models, converted by octet."""

    def check_conversion(self, name):
        folder, feeds = collection.FOLDER / name, cases.feeds(collection.FOLDER / name)[-1:]
        octet_side.convert(folder, self.out / "new", "paddle3")
        expected = list(self.paddle.run(folder, feeds)[0].values())
        for ir_optim in () if name in MERGED else (False, True):
            self.assert_close(self.paddle3.run(self.out / "new", feeds, ir_optim)[0].values(), expected, TOLERANCE)
        self.assert_close(self.paddle3.run_static(self.out / "new", feeds)[0], expected, TOLERANCE)
        self.assert_close(self.paddle3.run_dynamic(self.out / "new", feeds)[0], expected, TOLERANCE)
        octet_side.convert(self.out / "new", self.out / "back", "paddle")
        self.assert_close(self.paddle.run(self.out / "back", feeds)[0].values(), expected, SAME)

    def check_quantized(self, name):
        """octet gives the same bytes for both files, and Paddle's answers to pictures agree with octet's."""
        folder, feed = collection.FOLDER / name, cases.feeds(collection.FOLDER / name)[0]
        octet_side.convert(folder, self.out / "new", "paddle3")
        output = self.paddle.program(folder).fetches
        self.assert_close(octet_side.run(self.out / "new", feed, output).values(), octet_side.run(folder, feed, output).values(), 0)
        case = cases.load(folder)
        pictures = cases.tensor(case["pictures"], [quantized_checks.PICTURES, *case["evaluation"]], seed=900)
        feeds = [{"x": part} for part in np.split(pictures, 4)]
        found = np.concatenate([octet_side.run(self.out / "new", part, output)[output[0]] for part in feeds])
        for ir_optim in (False, True):
            expected = np.concatenate([next(iter(result.values())) for result in self.paddle3.run(self.out / "new", feeds, ir_optim)])
            self.check_answers(found, expected)
        octet_side.convert(self.out / "new", self.out / "back", "paddle")
        self.assert_close(octet_side.run(self.out / "back", feed, output).values(), octet_side.run(folder, feed, output).values(), 0)

    def test_without_parameters(self):
        """Over files that have some, of which no record may stay behind."""
        shutil.copytree(collection.FOLDER / "small", self.out / "model")
        octet_side.convert(self.out / "model", self.out / "model", "paddle3")
        folder = made("export", paddle3_models.NETWORKS) / "branching"
        octet_side.convert(folder, self.out / "model", "paddle3")
        feeds = feeds_of("branching")
        self.assert_close(self.paddle3.run(self.out / "model", feeds)[0].values(), self.paddle3.run(folder, feeds)[0].values(), 0)
        self.assertEqual(octet_side.call("info", "--model", self.out / "model").returncode, 0)


def made(kind, sources):
    """The folder of what Paddle makes of these, kept beside the models, as long as nothing of it changes."""
    key = hashlib.sha256(pathlib.Path(paddle3_models.__file__).read_bytes()).hexdigest()[:12]
    folder = collection.FOLDER / f".paddle3-{kind}-{key}"
    if not folder.exists():
        unfinished = tempfile.mkdtemp(prefix=".paddle3-", dir=collection.FOLDER)
        paddle3_models.make(kind, unfinished, *sources)
        pathlib.Path(unfinished).rename(folder)
    return folder


def add_tests(case, method, names):
    for name in names:
        setattr(case, f"test_{method}_{name}", lambda self, name=name: getattr(self, f"check_{method}")(name))


add_tests(ExportTest, "export", paddle3_models.NETWORKS)
add_tests(StaticTest, "static", paddle3_models.STATIC)
add_tests(TranslationTest, "translation", TRANSLATED)
add_tests(ConversionTest, "conversion", FLOAT)
add_tests(ConversionTest, "quantized", quant_models.MODELS)

if __name__ == "__main__":
    collection.main()
