"""Quantized ONNX models in octet and in ONNX Runtime without its optimizations, which computes what the file says."""
import itertools
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
from parity_test import convert, run_reference
from quantized_graphs import QuantizedGraph, network

NETWORKS = int(os.environ.get("OCTET_ONNX_NETWORKS", "1"))


class Quantized(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.octet = Octet(folder.name, "every-isa")
        self.addCleanup(self.octet.close)

    def test_every_form_gives_the_integers_of_onnx_runtime(self):
        """But for 1 in a thousandth of them, and what is made of these; on each instruction set the same bytes."""
        forms = itertools.product((("int8", 0), ("int8", -128), ("int8", 37), ("uint8", 0), ("uint8", 128), ("uint8", 57)),
                                  ("int8", "uint8", "asymmetric"), (True, False), ("int32", "float", None))
        differ = total = 0
        for i, ((type, zero), weights, per_channel, bias) in enumerate(forms):
            for seed in range(NETWORKS):
                form = dict(type=type, zero=zero, weights=weights, per_channel=per_channel, bias=bias,
                            opset=(13, 17, 21)[i % 3])
                model, steps = network(1000 * i + seed, **form)
                model = model.SerializeToString()
                x = np.random.default_rng(i).standard_normal((2, 6, 17, 15)).astype(np.float32) * 1.5
                found, expected = self.octet.run(model, [x]), run_reference(model, [x])
                before = False  # something in front of this layer differs
                for ours, theirs, step in zip(found, expected, steps, strict=True):
                    difference = np.abs(np.round(ours / step) - np.round(theirs / step))
                    self.assertLessEqual(difference.max(), 8 if before else 1, (seed, form))
                    self.assertLess((difference > 0).mean(), 0.01, (seed, form))
                    before = before or difference.max() > 0
                    differ, total = differ + (difference > 0).sum(), total + difference.size
        self.assertLessEqual(differ / total, 0.001)

    def check(self, graph, output, x, step):
        """The integers of a small network."""
        model = graph.model([output]).SerializeToString()
        found, expected = self.octet.run(model, [x])[0], run_reference(model, [x])[0]
        difference = np.abs(np.round(found / step) - np.round(expected / step))
        self.assertLessEqual(difference.max(), 1)
        self.assertLessEqual((difference > 0).mean(), 0.001)

    def test_channels_of_a_transposed_convolution_lie_along_axis_1(self):
        for zero in (0, 100):
            g = QuantizedGraph(1, "uint8", zero)
            x = g.quantized(g.input([1, 3, 9, 9]), 0.02)
            y = g.quantized(g.conv(x, 3, 7, transposed=True, strides=[2, 2]), 0.05)
            self.check(g, y, g.random.standard_normal((1, 3, 9, 9)).astype(np.float32), 0.05)

    def test_two_layers_share_their_weights(self):
        g = QuantizedGraph(2, "uint8", 121, weights="asymmetric")
        x = g.quantized(g.input([1, 4, 9, 9]), 0.02)
        weight, _ = g.weight((4, 4, 3, 3), 0)
        first = g.quantized(g.node("Conv", [x, weight], pads=[1, 1, 1, 1]), 0.1)
        y = g.quantized(g.node("Conv", [first, weight]), 0.5)
        self.check(g, y, g.random.standard_normal((1, 4, 9, 9)).astype(np.float32), 0.5)

    def test_a_batch_norm_behind_a_quantized_convolution(self):
        g = QuantizedGraph(3, "uint8", 90)
        x = g.quantized(g.input([1, 4, 9, 9]), 0.02)
        numbers = [g.constant(g.random.uniform(0.5, 1.5, 8).astype(np.float32)) for _ in range(4)]
        y = g.quantized(g.node("Relu", [g.node("BatchNormalization", [g.conv(x, 4, 8), *numbers])]), 0.05)
        self.check(g, y, g.random.standard_normal((1, 4, 9, 9)).astype(np.float32), 0.05)

    def float_network(self, activation, tiny_channel=False):
        """Convolutions with an activation function behind each, and a residual."""
        random = np.random.default_rng(7)
        tensors, nodes = {}, []

        def conv(x, inputs, outputs, name, active=True):
            weight = random.standard_normal((outputs, inputs, 3, 3)).astype(np.float32) / np.float32(np.sqrt(9 * inputs))
            bias = random.standard_normal(outputs).astype(np.float32)
            if tiny_channel:
                weight[0] *= 1e-9
                bias[0] = 1
            tensors[name + "w"], tensors[name + "b"] = weight, bias
            nodes.append(helper.make_node("Conv", [x, name + "w", name + "b"], [name], pads=[1, 1, 1, 1]))
            if active:
                nodes.append(helper.make_node(activation, [name], [name + "a"]))
            return name + "a" if active else name

        first = conv("x", 3, 32, "c0")
        second = conv(first, 32, 32, "c1")
        third = conv(second, 32, 32, "c2", active=False)
        nodes.append(helper.make_node("Add", [third, first], ["sum"]))
        conv("sum", 32, 32, "c3")
        nodes.append(helper.make_node("GlobalAveragePool", ["c3a"], ["y"]))
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3, 32, 32])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [numpy_helper.from_array(array, name) for name, array in tensors.items()])
        path = self.folder / "net.onnx"
        path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
                         .SerializeToString())
        return path

    def quantize(self, path, *flags):
        data = self.folder / "data.npy"
        np.save(data, np.random.default_rng(8).standard_normal((40, 3, 32, 32)).astype(np.float32))
        target = self.folder / "int8.onnx"
        result = subprocess.run([os.environ["OCTET_PROGRAM"], "ptq", "--model_path", path, "--data_dir", data, "--output_dir",
                                 target, "--fast", "True", *flags], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return target

    def optimized_ops(self, path):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(self.folder / "optimized.onnx")
        onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        return [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]

    def test_all_convolutions_are_integer_in_onnx_runtime(self):
        """And octet gives the same from that file."""
        x = np.random.default_rng(9).standard_normal((2, 3, 32, 32)).astype(np.float32)
        for activation in ("Relu", "HardSwish"):
            path = self.quantize(self.float_network(activation))
            ops = self.optimized_ops(path)
            # The mean of a Relu or HardSwish says nothing about its range: the last one stays a float.
            self.assertEqual((ops.count("QLinearConv"), ops.count("Conv") + ops.count("FusedConv")), (3, 1), activation)
            expected = run_reference(path.read_bytes(), [x])[0]
            found = self.octet.run(path.read_bytes(), [x])[0]
            self.assertLess(np.abs(found - expected).max() / np.abs(expected).max(), 0.01, activation)

    def test_steps_are_smaller_where_numbers_have_a_lower_bound(self):
        """HardSwish makes nothing below -3/8: in a file for the cpu the 255 steps begin there."""
        source, steps = self.float_network("HardSwish"), {}
        for target in ("cpu", "tensorrt"):
            model = onnx.load(self.quantize(source, "--target", target)).graph
            constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.initializer}
            behind = {node.output[0] for node in model.node if node.op_type == "HardSwish"}
            quantize = [node for node in model.node if node.op_type == "QuantizeLinear" and node.input[0] in behind]
            steps[target] = np.array([constants[node.input[1]] for node in quantize])
            zeros = np.array([constants[node.input[2]] for node in quantize])
            self.assertEqual(len(quantize), 2)
            if target == "cpu":
                self.assertLess(np.abs(steps["cpu"] * zeros - 0.375).max(), 0.02)
        self.assertLess((steps["cpu"] / steps["tensorrt"]).max(), 0.6)

    def test_a_bias_that_int32_could_not_hold(self):
        """A channel of tiny weights: with its own step the bias of 1 would be some 10^13 steps of the sum. ONNX Runtime 1.31 makes int32 of a
        float bias itself, without a guard, so the channel needs a larger step."""
        source = self.float_network("Relu", tiny_channel=True)
        path = self.quantize(source)
        biases = [numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer if tensor.data_type == TensorProto.INT32]
        self.assertEqual(len([bias for bias in biases if bias.shape == (32,)]), 4)
        self.assertGreater(max(np.abs(bias.astype(np.int64)).max() for bias in biases), 2**29)
        x = np.random.default_rng(9).standard_normal((2, 3, 32, 32)).astype(np.float32)
        ours = self.octet.run(path.read_bytes(), [x])[0]
        floats = run_reference(source.read_bytes(), [x])[0]
        for optimized in (False, True):
            theirs = run_reference(path.read_bytes(), [x], optimized)[0]
            self.assertLess(np.abs(ours - theirs).max() / np.abs(theirs).max(), 0.01 if optimized else 1e-3)
            self.assertLess(np.abs(floats - theirs).max() / np.abs(floats).max(), 0.05)

    def test_a_quantized_file_is_smaller(self):
        source = self.float_network("Relu")
        self.assertLess(self.quantize(source).stat().st_size, 0.45 * source.stat().st_size)

    def test_to_paddle_and_back(self):
        """int8 with zero point 0; others are refused by name."""
        path = self.quantize(self.float_network("Relu"), "--target", "tensorrt")
        x = np.random.default_rng(9).standard_normal((2, 3, 32, 32)).astype(np.float32)
        expected = self.octet.run(path.read_bytes(), [x])[0]
        convert(path, self.folder / "paddle")
        convert(self.folder / "paddle", self.folder / "back.onnx", "--target", "tensorrt")
        found = self.octet.run((self.folder / "back.onnx").read_bytes(), [x])[0]
        self.assertLess(np.abs(found - expected).max() / np.abs(expected).max(), 1e-3)
        uint8 = self.quantize(self.float_network("Relu"))
        with self.assertRaisesRegex(RuntimeError, "Paddle's integers are int8 with zero point 0, this one is uint8"):
            convert(uint8, self.folder / "other")


if __name__ == "__main__":
    unittest.main()
