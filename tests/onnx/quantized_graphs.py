"""Small random networks in the QDQ form, for comparisons with ONNX Runtime."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper


class QuantizedGraph:
    """Layers with Q and DQ around them. `type` and `zero` are those of activations; `weights` is "int8", "uint8" with a
    zero point of 128, or "asymmetric" (uint8 with any); `bias` is "int32", "float" or None."""

    def __init__(self, seed, type="int8", zero=0, weights="int8", per_channel=True, bias="int32", opset=17):
        self.random = np.random.default_rng(seed)
        self.type, self.zero = np.dtype(type), zero
        self.weights, self.per_channel, self.bias, self.opset = weights, per_channel, bias, opset
        self.nodes, self.tensors, self.steps, self.inputs = [], {}, {}, []
        self.count = 0

    def name(self, what="t"):
        self.count += 1
        return f"{what}{self.count}"

    def constant(self, array):
        name = self.name("c")
        self.tensors[name] = np.asarray(array)
        return name

    def node(self, op, inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def input(self, shape):
        self.inputs.append(helper.make_tensor_value_info(self.name("x"), TensorProto.FLOAT, shape))
        return self.inputs[-1].name

    def quantized(self, x, step=None, zero=None):
        """Q and DQ behind x."""
        step = np.float32(self.random.uniform(0.01, 0.04) if step is None else step)
        scale = self.constant(step)
        zero = self.constant(np.array(self.zero if zero is None else zero, self.type))
        y = self.node("DequantizeLinear", [self.node("QuantizeLinear", [x, scale, zero]), scale, zero])
        self.steps[y] = step
        return y

    def weight(self, shape, axis):
        """The name of dequantized weights, and their steps."""
        channels = shape[axis]
        steps = self.random.uniform(0.005, 0.02, channels if self.per_channel else ()).astype(np.float32)
        if self.weights == "int8":
            integers, zeros = self.random.integers(-128, 128, shape).astype(np.int8), np.zeros(steps.shape, np.int8)
        else:
            integers = self.random.integers(0, 256, shape).astype(np.uint8)
            zeros = self.random.integers(90, 160, steps.shape) if self.weights == "asymmetric" else np.full(steps.shape, 128)
            zeros = zeros.astype(np.uint8)
        attributes = {"axis": axis} if self.per_channel else {}
        return self.node("DequantizeLinear", [self.constant(integers), self.constant(steps), self.constant(zeros)],
                         **attributes), steps

    def biases(self, x, channels, steps):
        if self.bias is None:
            return []
        if self.bias == "float":
            return [self.constant(self.random.standard_normal(channels).astype(np.float32))]
        unit = (self.steps[x] * steps).astype(np.float32)
        integers = self.random.integers(-3000, 3000, channels).astype(np.int32)
        attributes = {"axis": 0} if self.per_channel else {}
        return [self.node("DequantizeLinear", [self.constant(integers), self.constant(unit)], **attributes)]

    def conv(self, x, inputs, outputs, kernel=3, groups=1, transposed=False, **attributes):
        shape = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
        weight, steps = self.weight(shape + (kernel, kernel), 1 if transposed else 0)
        per_group = transposed and groups > 1 and self.per_channel
        bias = [] if per_group else self.biases(x, outputs, steps)
        return self.node("ConvTranspose" if transposed else "Conv", [x, weight, *bias], group=groups, **attributes)

    def matmul(self, x, inputs, outputs, gemm=True):
        if gemm:
            weight, steps = self.weight((outputs, inputs), 0)
            return self.node("Gemm", [x, weight, *self.biases(x, outputs, steps)], transB=1)
        weight, steps = self.weight((inputs, outputs), 1)
        return self.node("MatMul", [x, weight])

    def model(self, outputs):
        graph = helper.make_graph(
            self.nodes, "q", self.inputs, [helper.make_tensor_value_info(y, TensorProto.FLOAT, None) for y in outputs],
            [numpy_helper.from_array(array, name) for name, array in self.tensors.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def network(seed, **options):
    """A network with every kind of layer that octet computes in integers; its outputs are what all layers give, dequantized
    (as integers they would have to stay as the file holds them). With their steps."""
    g = QuantizedGraph(seed, **options)
    x = g.quantized(g.input([2, 6, 17, 15]), step=0.02)
    layers = []

    def layer(y, step=None, zero=None):
        layers.append(g.quantized(y, step, zero))
        return layers[-1]

    def activated(y, step=0.05):
        op = ["Relu", "HardSwish", "LeakyRelu", "Sigmoid", "Clip"][g.random.integers(5)]
        if op == "HardSwish" and g.opset < 14:
            op = "Relu"
        if op == "Clip":
            return layer(g.node(op, [y, g.constant(np.float32(0)), g.constant(np.float32(6))]), step)
        return layer(g.node(op, [y]), step)

    first = activated(g.conv(x, 6, 16, pads=[1, 1, 1, 1]))                            # merged taps
    deep = layer(g.conv(first, 16, 20, kernel=1))
    wise = activated(g.conv(first, 16, 16, groups=16, pads=[1, 1, 1, 1]))              # depthwise
    grouped = layer(g.conv(wise, 16, 16, groups=4, strides=[2, 2], pads=[1, 0, 0, 1], dilations=[2, 1]))
    skip = layer(g.conv(first, 16, 16, pads=[1, 1, 1, 1]))
    layer(g.node("Add", [skip, wise]), 0.1)
    layer(g.node("Relu", [g.node("Add", [g.conv(first, 16, 16, kernel=1), wise])]), 0.1)  # a residual
    layer(g.node("Mul", [skip, wise]), 0.05)
    layer(g.node("Concat", [skip, wise], axis=1), 0.06)
    pooled = layer(g.node("MaxPool", [wise], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), g.steps[wise])
    up = layer(g.conv(pooled, 16, 8, transposed=True, kernel=3, strides=[2, 2], pads=[1, 1, 0, 0]))
    layer(g.node("Sigmoid", [up]), 1 / 256)
    mean = layer(g.node("GlobalAveragePool", [grouped]))
    flat = layer(g.node("Flatten", [mean]), g.steps[mean])
    layer(g.matmul(flat, 16, 11))
    layer(g.matmul(flat, 16, 9, gemm=False))
    # Of four numbers the mean often lies halfway between two integers, where the order of additions decides.
    layer(g.node("AveragePool", [deep], kernel_shape=[3, 3]), g.steps[deep])
    return g.model(layers), [g.steps[y] for y in layers]
