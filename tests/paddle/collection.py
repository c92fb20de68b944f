"""The test cases' common ground: the models, made when they are missing, and one child process with Paddle a test program."""

import pathlib
import sys
import unittest

import cases
import make_models
import paddle_side
import ptq_models

FOLDER = make_models.default_folder()


def names():
    """All models but those that differ from others in their scales alone."""
    return [name for name in make_models.recipes() if name not in ptq_models.MODELS]


def folders(quantized=None):
    """The folders of these models, or of only those that are (not) quantized."""
    found = [FOLDER / name for name in names()]
    return [f for f in found if quantized is None or cases.load(f).get("quantized", False) == quantized]


class PaddleTestCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        failed = make_models.ensure(FOLDER)
        if failed:
            raise AssertionError(f"Paddle could not make {', '.join(failed)}")
        cls.paddle = paddle_side.Paddle()

    @classmethod
    def tearDownClass(cls):
        cls.paddle.close()


def add_tests(case, method, models):
    """One test method of `case` for each model: test_<model>, calling case.<method>(folder)."""
    for name in models:
        setattr(case, f"test_{name}", lambda self, folder=FOLDER / name: getattr(self, method)(folder))


def main():
    unittest.main(verbosity=2, argv=[pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])
