"""The files of paddle.save and numpy.save, read and written by octet, against real Paddle and NumPy.

Needs OCTET_STATE_DICT_TOOL, the program octet_state_dict_tool.
"""
import os
import pickle
import subprocess
import tempfile
import unittest

import numpy as np
import paddle

TOOL = os.environ["OCTET_STATE_DICT_TOOL"]


def run(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=60)


def flatten(value, path=()):
    """(path, leaf) for every leaf, tensors as arrays; bit for bit comparable."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from flatten(item, path + (key,))
    elif isinstance(value, (list, tuple)):
        yield path, (type(value).__name__, len(value))
        for index, item in enumerate(value):
            yield from flatten(item, path + (index,))
    elif isinstance(value, (np.ndarray, paddle.Tensor)):
        array = np.asarray(value)
        yield path, (type(value).__name__, str(array.dtype), array.shape, array.tobytes())
    else:
        yield path, (type(value).__name__, repr(value))


def train_a_step(network, optimizer, shape):
    network.train()
    network(paddle.randn(shape)).square().mean().backward()
    optimizer.step()
    optimizer.clear_grad()


class StateDictTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        paddle.seed(1)

    def path(self, name):
        return os.path.join(self.folder, name)

    def copy(self, source):
        target = source + ".copy"
        result = run("copy", source, target)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return target

    def check_copy(self, source):
        """octet's copy is what Paddle loads from the original: types, order, values, and names of parameters."""
        target = self.copy(source)
        for options in ({}, {"return_numpy": True}, {"keep_name_table": True}):
            wanted, got = paddle.load(source, **options), paddle.load(target, **options)
            self.assertEqual(list(flatten(wanted)), list(flatten(got)))
            for key, value in wanted.items():
                if isinstance(value, paddle.Tensor):
                    self.assertEqual(value.name, got[key].name)
        return target

    def test_network_and_optimizers(self):
        def adam(network):
            schedule = paddle.optimizer.lr.CosineAnnealingDecay(0.1, 7)
            return paddle.optimizer.Adam(schedule, parameters=network.parameters()), schedule

        def momentum(network):
            schedule = paddle.optimizer.lr.PiecewiseDecay([3, 6], [0.1, 0.01, 0.001])
            return paddle.optimizer.Momentum(schedule, parameters=network.parameters()), schedule

        def build(make):
            network = paddle.vision.models.mobilenet_v3_small(scale=0.35, num_classes=7)
            return network, *make(network)

        def next_step(network, optimizer):
            paddle.seed(2)
            train_a_step(network, optimizer, [2, 3, 32, 32])
            return dict(flatten(network.state_dict())), dict(flatten(optimizer.state_dict()))

        for make, protocol in ((adam, 4), (momentum, 4), (adam, 2), (momentum, 3)):
            with self.subTest(make=make.__name__, protocol=protocol):
                # The names of an optimizer's tensors, which the first step makes, hold a counter. The guard starts it
                # anew, as a new process does.
                with paddle.utils.unique_name.guard():
                    network, optimizer, schedule = build(make)
                    train_a_step(network, optimizer, [2, 3, 32, 32])
                schedule.step()
                paddle.save(network.state_dict(), self.path("m.pdparams"), protocol=protocol)
                paddle.save(optimizer.state_dict(), self.path("m.pdopt"), protocol=protocol)
                params, opt = self.check_copy(self.path("m.pdparams")), self.check_copy(self.path("m.pdopt"))

                before = dict(flatten(network.state_dict()))
                wanted = next_step(network, optimizer)
                with paddle.utils.unique_name.guard():
                    network, optimizer, _ = build(make)
                    self.assertEqual(network.set_state_dict(paddle.load(params)), ([], []))  # none missing or unknown
                    self.assertTrue(before == dict(flatten(network.state_dict())), "the parameters differ")
                    optimizer.set_state_dict(paddle.load(opt))
                    got = next_step(network, optimizer)
                self.assertTrue(wanted == got, "training does not go on from octet's files as it does without them")
                self.assertFalse(before == wanted[0], "the step changed nothing")
                self.assertGreater(len(got[1]), 100)

    def test_nested_values(self):
        value = {
            "epoch": 3,
            "big": 1 << 40,
            "negative": -(1 << 62),
            "rate": 0.1,
            "flags": [True, False, None],
            "text": "größe 大",
            "tensors": {"a": paddle.arange(6).reshape([2, 3]), "b": [paddle.ones([2, 1]), (1, 2.5)]},
            "empty": {"list": [], "tuple": (), "dict": {}},
            7: "a key that is not text",
        }
        for protocol in (2, 3, 4):
            with self.subTest(protocol=protocol):
                nested = {"state": value}
                paddle.save(nested, self.path("n.pdparams"), protocol=protocol)
                self.check_copy(self.path("n.pdparams"))

    def test_every_dtype(self):
        dtypes = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
        state = {dtype: paddle.to_tensor([0, 1, 2]).astype(dtype) for dtype in dtypes}
        state["zero elements"] = paddle.zeros([0, 3])
        state["scalar"] = paddle.to_tensor(2.5)
        for protocol in (2, 3, 4):
            with self.subTest(protocol=protocol):
                paddle.save(state, self.path("d.pdparams"), protocol=protocol)
                self.check_copy(self.path("d.pdparams"))
        listed = run("list", self.path("d.pdparams")).stdout.splitlines()
        self.assertEqual(listed[:10], [f"{dtype} {dtype} 3" for dtype in dtypes])

    def test_arrays_of_numpy(self):
        state = {
            "fortran": np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4)),
            "strided": np.arange(24, dtype="i4").reshape(4, 6)[::2, ::3],
            "twice": np.arange(3.0),
            "scalar": np.float64(0.25),
            "half": np.float16(1.5),
            "flag": np.bool_(True),
            "count": np.int64(-5),
        }
        state["shared"] = state["twice"]
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            with self.subTest(protocol=protocol), open(self.path("x.pdparams"), "wb") as file:
                pickle.dump(state, file, protocol=protocol)
                file.close()
                with open(self.copy(self.path("x.pdparams")), "rb") as copy:
                    got = pickle.load(copy)
                self.assertEqual(list(got), list(state))
                for key, value in state.items():
                    self.assertEqual(np.asarray(got[key]).tolist(), value.tolist(), key)
                    if isinstance(value, np.ndarray):
                        self.assertEqual(got[key].dtype, value.dtype)

    def test_split_arrays(self):
        # As _unpack_saved_dict of Paddle writes arrays over 1 GiB under protocols 2 and 3.
        whole = np.arange(60, dtype="f4").reshape(3, 4, 5)
        flat = whole.flatten()
        state = {
            "before": np.zeros(1),
            "w@@.0": flat[:25],
            "w@@.1": flat[25:50],
            "w@@.2": flat[50:],
            "UnpackBigParamInfor@@": {
                "w": {"OriginShape": whole.shape, "slices": ["w@@.0", "w@@.1", "w@@.2"]}
            },
        }
        with open(self.path("s.pdparams"), "wb") as file:
            pickle.dump(state, file, protocol=2)
        wanted = paddle.load(self.path("s.pdparams"), return_numpy=True)
        got = paddle.load(self.copy(self.path("s.pdparams")), return_numpy=True)
        self.assertEqual(sorted(got), ["before", "w"])
        self.assertEqual(dict(flatten(got)), dict(flatten(wanted)))

    def test_hostile_pickles(self):
        class Evil:
            def __init__(self, call):
                self.call = call

            def __reduce__(self):
                return self.call

        marker = self.path("marker")
        for call in ((os.system, (f"touch {marker}",)), (eval, ("1",)), (open, (marker, "w"))):
            for protocol in (2, 4):
                with open(self.path("evil.pdparams"), "wb") as file:
                    pickle.dump({"weight": Evil(call)}, file, protocol=protocol)
                result = run("list", self.path("evil.pdparams"))
                self.assertEqual(result.returncode, 2)
                self.assertRegex(result.stderr, r"^octet: error: .*byte \d+: this pickle wants to call .*\n$")
                self.assertFalse(os.path.exists(marker))
        self.assertIn(f"{open.__module__}.open", result.stderr)


class NpyTest(unittest.TestCase):
    def test_copies_are_the_same_file(self):
        shapes = [(), (1,), (0,), (5,), (2, 3), (2, 0, 3), (1, 2, 3, 4, 5), (12345, 1)]
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
            for dtype in ("?", "i1", "u1", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8"):
                # Every shape for one type, and one shape for every type.
                for shape in shapes if dtype == "<f4" else shapes[4:5]:
                    array = (np.random.default_rng(1).random(shape) * 3).astype(dtype)
                    np.save(source, array)
                    self.assertEqual(run("copy-npy", source, target).stderr, "")
                    with open(source, "rb") as wanted, open(target, "rb") as got:
                        self.assertEqual(wanted.read(), got.read(), (dtype, shape))

    def test_other_layouts(self):
        array = np.random.default_rng(1).random((3, 4, 5)).astype("<f4")
        with tempfile.TemporaryDirectory() as folder:
            source, target = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
            for version in ((1, 0), (2, 0), (3, 0)):
                for layout in (np.ascontiguousarray, np.asfortranarray):
                    with open(source, "wb") as file:
                        np.lib.format.write_array(file, layout(array), version=version)
                    self.assertEqual(run("copy-npy", source, target).stderr, "")
                    np.testing.assert_array_equal(np.load(target), array)
            np.save(source, array.astype(">f4"))
            self.assertIn("big-endian", run("copy-npy", source, target).stderr)


if __name__ == "__main__":
    unittest.main()
