"""What must hold for Paddle 3's files: octet computes what Paddle does, writes back what it read, and what it writes Paddle runs."""

import hashlib
import json
import pathlib
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
IMAGES = [[2, 6, 6, 8], [1, 6, 9, 5]]
SHAPES = {"every_op": [[2, 4, 6, 8], [1, 4, 9, 5]], "rare_ops": IMAGES, "fake_ops": IMAGES, "recurrent": [[2, 7, 6], [1, 9, 6]], "gated": [[2, 7, 6]],
          "branching": [[3, 6]], "constant_branches": [[3, 6], [1, 6]]}
CARRIED = {"gated": "rnn", "branching": "if"}  # with an op that octet does not compute
ONE_WAY = ("recurrent", "constant_branches", "fake_ops")  # with ops that octet does not write, or has no older ones for
UNFOLDED = ("constant_branches",)  # Paddle's predictor fails where it could fold a condition; its executor does not
FLOAT = [name for name in (*float_models.MODELS, *op_models.MODELS) if name != "op_quantize"]
# Equal ops are merged by Paddle's predictor, which then finds only one of their outputs.
MERGED = ("op_activation",)
NOT_TRANSLATED = ("op_resize",)  # Paddle does not translate the oldest resizing ops
TRANSLATED = [name for name in FLOAT if name not in MERGED + NOT_TRANSLATED]
# For every test run; the others are for `make test-paddle3`.
SMALL_FLOAT = [name for name in FLOAT if name not in ("mobilenet_v2", "resnet50", "ocr_det", "ocr_rec")]
SMALL_TRANSLATED = [name for name in TRANSLATED if name in SMALL_FLOAT or name == "ocr_rec"]
SMALL_QUANTIZED = ("small_kl_onnx", "small_kl_old", "ocr_cls_hist_onnx", "ocr_cls_per_tensor_old", "small_qat_pact")


def feeds_of(name):
    rng = np.random.default_rng(8)
    return [{"x": rng.normal(0, 1, shape).astype(np.float32)} for shape in SHAPES.get(name, [[1, 3, 96, 64], [2, 3, 64, 64]])]


def ops_of(folder):
    """The ops of the outermost block."""
    return json.loads((folder / "inference.json").read_text())["program"]["regions"][0]["blocks"][0]["ops"]


def names_of_outputs(folder):
    return [attr["AT"]["D"] for op in ops_of(folder) if op["#"] == "1.fetch" for attr in op["A"] if attr["N"] == "name"]


class Paddle3Checks(quantized_checks.QuantizedChecks):
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

    def check_file(self, folder, feeds, both_ways=True):
        """A file that Paddle wrote."""
        if folder.name in UNFOLDED:
            expected = [dict(zip(names_of_outputs(folder), result)) for result in self.paddle3.run_static(folder, feeds)]
        else:
            expected = self.paddle3.run(folder, feeds)
        for feed, reference in zip(feeds, expected):
            self.assert_close(octet_side.run(folder, feed, list(reference)).values(), reference.values(), TOLERANCE)
        self.check_same_bytes(folder)
        if not both_ways:
            return
        # Through the older format, which leaves nothing of the original text.
        octet_side.convert(folder, self.out / "older", "paddle")
        octet_side.convert(self.out / "older", self.out / "again", "paddle3")
        self.assert_close(self.paddle3.run(self.out / "again", feeds[-1:])[0].values(), expected[-1].values(), SAME)
        self.assert_close(self.paddle.run(self.out / "older", feeds[-1:])[0].values(), expected[-1].values(), SAME)


class ExportChecks(Paddle3Checks):
    """Networks that Paddle exported."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = made("export", cls.networks)

    def check_export(self, name):
        folder, feeds = self.folder / name, feeds_of(name)
        if name in CARRIED:
            self.assertRegex(octet_side.call("info", "--model", folder).stderr, rf"cannot run this model, it doesn't know .*paddle3:{CARRIED[name]}\b")
            refused = octet_side.call("bench", "--model", folder)
            self.assertEqual(refused.returncode, 2)
            self.assertRegex(refused.stderr, r"\Aoctet: error: paddle3:.*\n\Z")
            self.check_same_bytes(folder)
            self.assert_close(self.paddle3.run(self.out / "same", feeds)[0].values(), self.paddle3.run(folder, feeds)[0].values(), 0)
        else:
            self.check_file(folder, feeds, both_ways=name not in ONE_WAY)


class StaticChecks(Paddle3Checks):
    """The networks again, built and saved as static programs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = made("static", cls.networks)

    def check_static(self, name):
        self.check_file(self.folder / name, feeds_of(name)[-1:])


class TranslationChecks(Paddle3Checks):
    """The older models, translated by Paddle."""

    @classmethod
    def made(cls):
        return made("translate", [collection.FOLDER / name for name in cls.networks])

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = cls.made()

    def check_translation(self, name):
        self.check_file(self.folder / name, cases.feeds(collection.FOLDER / name)[-2:])


class ConversionChecks(Paddle3Checks):
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


def made(kind, sources):
    """The folder of what Paddle makes of these, kept beside the models, as long as nothing of it changes."""
    key = hashlib.sha256(pathlib.Path(paddle3_models.__file__).read_bytes() + repr(list(map(str, sources))).encode()).hexdigest()[:12]
    folder = collection.FOLDER / f".paddle3-{kind}-{key}"
    if not folder.exists():
        unfinished = tempfile.mkdtemp(prefix=".paddle3-", dir=collection.FOLDER)
        paddle3_models.make(kind, unfinished, *sources)
        pathlib.Path(unfinished).rename(folder)
    return folder


def add_tests(case, method, names):
    case.networks = list(names)
    for name in names:
        setattr(case, f"test_{method}_{name}", lambda self, name=name: getattr(self, f"check_{method}")(name))
