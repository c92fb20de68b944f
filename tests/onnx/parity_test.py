"""ONNX models in octet and in ONNX Runtime: random graphs read and written back, quantized models, the program's commands."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from octet_side import Octet
from random_graphs import RandomGraph

GRAPHS = int(os.environ.get("OCTET_ONNX_GRAPHS", "500"))


def run_reference(model, inputs, optimized=False):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    return session.run(None, {i.name: array for i, array in zip(session.get_inputs(), inputs)})


def convert(source, target, *flags):
    result = subprocess.run([os.environ["OCTET_PROGRAM"], "convert", "--model", source, "--output", target, *flags],
                            capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip())


class Onnx(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.octet = Octet(folder.name)
        self.addCleanup(self.octet.close)

    def assert_close(self, found, expected, what, tolerance=1e-4):
        for ours, theirs in zip(found, expected, strict=True):
            self.assertEqual(ours.shape, theirs.shape, what)
            largest = max(np.abs(theirs).max(initial=0), 1e-6)
            self.assertLess(np.abs(ours - theirs).max(initial=0) / largest, tolerance, what)

    def test_random_graphs(self):
        """A failure names its seed."""
        for seed in range(GRAPHS):
            model, inputs = RandomGraph(seed).make()
            what = f"RandomGraph({seed}): " + " ".join(node.op_type for node in model.graph.node)
            bytes = model.SerializeToString()
            expected = run_reference(bytes, inputs)
            self.assert_close(self.octet.run(bytes, inputs), expected, what)
            if seed % 10 == 0:
                self.check_written(bytes, inputs, expected, what, seed)

    def check_written(self, bytes, inputs, expected, what, seed):
        source = self.folder / "random.onnx"
        source.write_bytes(bytes)
        read = onnx.load(source).opset_import[-1].version  # written in the same one it would be the same file
        opset = [version for version in (13, 17, 18, 21) if version != read][seed // 10 % 3]
        target = self.folder / "written.onnx"
        convert(source, target, "--opset", str(opset))
        model = onnx.load(target)
        onnx.checker.check_model(model, full_check=True)
        self.assertEqual(model.opset_import[-1].version, opset)
        self.assert_close(run_reference(target.read_bytes(), inputs), expected, f"{what} written in opset {opset}")

    def quantized(self, type, zero, weight_zero=False):
        """Conv between Q and DQ, as ONNX Runtime's quantizer makes it."""
        random = np.random.default_rng(3)
        dtype = np.dtype(type)
        tensors = {"s": np.float32(0.02), "z": np.array(zero, dtype), "ws": random.uniform(0.01, 0.02, 4).astype(np.float32),
                   "wz": np.zeros(4, np.int8), "w": random.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
                   "b": random.integers(-2000, 2000, 4).astype(np.int32), "os": np.float32(0.05)}
        tensors["bs"] = tensors["s"] * tensors["ws"]
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                 helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
                 helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=0),
                 helper.make_node("DequantizeLinear", ["b", "bs"], ["bd"], axis=0),
                 helper.make_node("Conv", ["d", "wd", "bd"], ["c"], pads=[1, 1, 1, 1]),
                 helper.make_node("QuantizeLinear", ["c", "os", "z"], ["y"])]
        graph = helper.make_graph(nodes, "q", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 9, 9])],
                                  [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(dtype), None)],
                                  [numpy_helper.from_array(np.asarray(array), name) for name, array in tensors.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def test_quantized_models_give_the_same_integers(self):
        x = np.random.default_rng(1).standard_normal((2, 3, 9, 9)).astype(np.float32)
        for type, zero in (("int8", 0), ("int8", -128), ("uint8", 0), ("uint8", 128), ("uint8", 57)):
            bytes = self.quantized(type, zero).SerializeToString()
            expected, found = run_reference(bytes, [x])[0], self.octet.run(bytes, [x])[0]
            self.assertEqual(found.dtype, expected.dtype)
            difference = np.abs(found.astype(int) - expected.astype(int))
            self.assertLessEqual(difference.max(), 1, (type, zero))
            self.assertLessEqual((difference > 0).mean(), 0.001, (type, zero))

    def test_one_q_read_by_several_dqs(self):
        """And a weight that two layers share."""
        random = np.random.default_rng(2)
        tensors = {"s": np.float32(0.02), "z": np.int8(0), "w": random.standard_normal((3, 3)).astype(np.float32)}
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                 helper.make_node("DequantizeLinear", ["q", "s", "z"], ["a"]),
                 helper.make_node("DequantizeLinear", ["q", "s", "z"], ["b"]),
                 helper.make_node("MatMul", ["a", "w"], ["c"]), helper.make_node("MatMul", ["b", "w"], ["d"]),
                 helper.make_node("Sub", ["c", "d"], ["e"]), helper.make_node("Add", ["e", "c"], ["y"])]
        graph = helper.make_graph(nodes, "q", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(np.asarray(array), name) for name, array in tensors.items()])
        bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8).SerializeToString()
        x = random.standard_normal((2, 3)).astype(np.float32)
        self.assert_close(self.octet.run(bytes, [x]), run_reference(bytes, [x]), "q read twice")

    def test_float16_models_are_computed_in_float32(self):
        random = np.random.default_rng(5)
        graph = helper.make_graph(
            [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["r"]),
             helper.make_node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)], "half",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT16, [1, 3, 8, 8])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(random.standard_normal((4, 3, 3, 3)).astype(np.float16), "w")])
        bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
        x = random.standard_normal((1, 3, 8, 8)).astype(np.float16)
        self.assert_close(self.octet.run(bytes, [x]), run_reference(bytes, [x]), "float16", tolerance=2e-3)

    def test_calibration_with_dynamic_and_empty_shapes(self):
        """Pictures of different sizes, as onnx's test data, through a model with a tensor of no elements."""
        random = np.random.default_rng(6)
        tensors = {"w": random.standard_normal((8, 3, 3, 3)).astype(np.float32) / 5,
                   "v": random.standard_normal((4, 8, 1, 1)).astype(np.float32) / 3,
                   "zero": np.array([0]), "two": np.array([2])}
        nodes = [helper.make_node("Slice", ["x", "zero", "zero", "two"], ["none"]),
                 helper.make_node("Relu", ["none"], ["still_none"]),
                 helper.make_node("Concat", ["still_none", "x"], ["joined"], axis=2),
                 helper.make_node("Conv", ["joined", "w"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
                 helper.make_node("Conv", ["r", "v"], ["y"])]
        graph = helper.make_graph(nodes, "dynamic", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, "H", "W"])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(array, name) for name, array in tensors.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, self.folder / "model.onnx")
        for i, size in enumerate([(1, 3, 8, 9), (2, 3, 12, 7), (1, 3, 16, 16)]):
            folder = self.folder / "data" / f"test_data_set_{i}"
            folder.mkdir(parents=True)
            array = random.standard_normal(size).astype(np.float32)
            (folder / "input_0.pb").write_bytes(numpy_helper.from_array(array, "x").SerializeToString())
        result = subprocess.run([os.environ["OCTET_PROGRAM"], "ptq", "--model_path", self.folder / "model.onnx", "--data_dir",
                                 self.folder / "data", "--output_dir", self.folder / "int8.onnx", "--fast"],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        x = random.standard_normal((1, 3, 10, 11)).astype(np.float32)
        expected = run_reference(model.SerializeToString(), [x])
        found = run_reference((self.folder / "int8.onnx").read_bytes(), [x])
        self.assert_close(found, expected, "int8", tolerance=0.1)


if __name__ == "__main__":
    unittest.main()
