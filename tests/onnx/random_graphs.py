"""Small random ONNX graphs: layers as exporters write them, at odd sizes, strides, pads, groups and opsets."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class RandomGraph:
    """model, inputs = RandomGraph(seed).make()"""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.opset = int(self.random.choice([11, 13, 15, 17, 18, 21]))
        self.nodes, self.initializers, self.count = [], [], 0

    def pick(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def constant(self, array):
        name = self.name()
        tensor = numpy_helper.from_array(np.asarray(array), name)
        if self.random.random() < 0.3:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.initializers.append(tensor)
        return name

    def weights(self, *shape):
        return self.constant((self.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]) or 1)).astype(np.float32))

    def op(self, type, inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(type, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    # Each takes a value and its shape and gives the same.

    def conv(self, x, shape):
        channels, kernel = shape[1], int(self.random.choice([1, 3, 5]))
        group = self.pick(1, channels)
        out = group * int(self.random.integers(1, 4))
        dilation = self.pick(1, 1, 2)
        if (kernel - 1) * dilation + 1 > min(shape[2:]):
            return x, shape
        attributes = {"strides": [self.pick(1, 2), self.pick(1, 2)], "dilations": [dilation] * 2, "group": group}
        how = self.pick("pads", "SAME_UPPER" if dilation == 1 else "pads", "VALID")  # ONNX Runtime has no SAME with dilations
        if how == "pads":
            attributes["pads"] = [int(p) for p in self.random.integers(0, 3, 4)]
        else:
            attributes["auto_pad"] = how
        inputs = [x, self.weights(out, channels // group, kernel, kernel)]
        if self.pick(True, False):
            inputs.append(self.weights(out))
        return self.op("Conv", inputs, **attributes), None

    def deconv(self, x, shape):
        if min(shape[2:]) < 2:  # its pads could leave nothing
            return x, shape
        out = int(self.random.integers(1, 5))
        return self.op("ConvTranspose", [x, self.weights(shape[1], out, 2, 2), self.weights(out)], strides=[2, 2],
                       pads=[int(p) for p in self.random.integers(0, 2, 4)]), None

    def norm(self, x, shape):
        channels = shape[1]
        positive = self.constant(self.random.uniform(0.5, 2, channels).astype(np.float32))
        return self.op("BatchNormalization", [x, self.weights(channels), self.weights(channels), self.weights(channels),
                                              positive]), shape

    def activation(self, x, shape):
        kind = self.pick("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Elu", "Softplus", "clip", "swish", "gelu",
                         "hardswish", "PRelu", "Abs", "Exp")
        if kind == "clip":
            return self.op("Clip", [x, self.constant(np.float32(-0.5)), self.constant(np.float32(0.75))]), shape
        if kind == "swish":
            return self.op("Mul", [x, self.op("Sigmoid", [x])]), shape
        if kind == "gelu":
            erf = self.op("Erf", [self.op("Div", [x, self.constant(np.float32(1.4142135))])])
            product = self.op("Mul", [x, self.op("Add", [erf, self.constant(np.float32(1))])])
            return self.op("Mul", [product, self.constant(np.float32(0.5))]), shape
        if kind == "hardswish":
            shifted = self.op("Add", [x, self.constant(np.float32(3))])
            clipped = self.op("Clip", [shifted, self.constant(np.float32(0)), self.constant(np.float32(6))])
            return self.op("Div", [self.op("Mul", [x, clipped]), self.constant(np.float32(6))]), shape
        if kind == "PRelu":
            return self.op("PRelu", [x, self.weights(shape[1], 1, 1)]), shape
        if kind == "Exp":
            return self.op("Exp", [self.op("Tanh", [x])]), shape
        return self.op(kind, [x]), shape

    def pool(self, x, shape):
        kind = self.pick("MaxPool", "AveragePool", "GlobalAveragePool")
        if kind == "GlobalAveragePool" or min(shape[2:]) < 3:
            scale = self.op("Sigmoid", [self.op("GlobalAveragePool", [x])])
            return self.op("Mul", [x, scale]), shape
        attributes = {"kernel_shape": [3, 3], "strides": [self.pick(1, 2)] * 2, "pads": [self.pick(0, 1)] * 4,
                      "ceil_mode": self.pick(0, 1)}
        if kind == "AveragePool" and not attributes["ceil_mode"]:
            attributes["count_include_pad"] = self.pick(0, 1)
        return self.op(kind, [x], **attributes), None

    def resize(self, x, shape):
        scales = self.constant(np.array([1, 1, 2, self.pick(2, 3)], np.float32))
        mode, where = self.pick(("nearest", "asymmetric"), ("linear", "half_pixel"), ("linear", "align_corners"),
                                ("linear", "asymmetric"))
        attributes = {"nearest_mode": "floor"} if mode == "nearest" else {}
        return self.op("Resize", [x, self.constant(np.zeros(0, np.float32)), scales], mode=mode,
                       coordinate_transformation_mode=where, **attributes), None

    def arithmetic(self, x, shape):
        other = self.weights(*self.pick([1, shape[1], 1, 1], [shape[1], 1, 1], [1], shape[1:]))
        return self.op(self.pick("Add", "Sub", "Mul", "Max", "Min"), [x, other]), shape

    def split_and_join(self, x, shape):
        if shape[1] < 2:
            return x, shape
        first = int(self.random.integers(1, shape[1]))
        parts = [first, shape[1] - first]
        if self.opset < 13:
            a, b = self.op("Split", [x], 2, axis=1, split=parts)
        else:
            a, b = self.op("Split", [x, self.constant(np.array(parts))], 2, axis=1)
        return self.op("Concat", [self.op("Neg", [b]), a], axis=1), shape

    def slice(self, x, shape):
        if min(shape[2:]) < 4:
            return x, shape
        step = self.pick(1, 2, -1)
        start, end = (0, 100) if step > 0 else (-1, -100)
        return self.op("Slice", [x, self.constant(np.array([start])), self.constant(np.array([end])),
                                 self.constant(np.array([self.pick(2, 3)])), self.constant(np.array([step]))]), None

    def transposed(self, x, shape):
        y = self.op("Transpose", [x], perm=[0, 2, 3, 1])
        y = self.op("Softmax", [y], axis=3)
        return self.op("Transpose", [y], perm=[0, 3, 1, 2]), shape

    def reduced(self, x, shape):
        axes = [2, 3]
        kind = self.pick("ReduceMean", "ReduceMax", "ReduceSum")
        if self.opset >= 18 or (kind == "ReduceSum" and self.opset >= 13):
            mean = self.op(kind, [x, self.constant(np.array(axes))], keepdims=1)
        else:
            mean = self.op(kind, [x], axes=axes, keepdims=1)
        if kind == "ReduceSum":  # sums of sums would make small differences large
            mean = self.op("Tanh", [mean])
        return self.op("Sub", [x, mean]), shape

    def reshaped(self, x, shape):
        sizes = self.op("Shape", [x])
        front = self.op("Slice", [sizes, self.constant(np.array([0])), self.constant(np.array([2])),
                                  self.constant(np.array([0]))])
        flat = self.op("Concat", [front, self.constant(np.array([-1]))], axis=0)
        return self.op("Reshape", [self.op("Tanh", [self.op("Reshape", [x, flat])]), sizes]), shape

    def padded(self, x, shape):
        mode = self.pick("constant", "edge", "reflect")
        pads = [0, 0, *(int(p) for p in self.random.integers(0, 3, 2)), 0, 0, *(int(p) for p in self.random.integers(0, 3, 2))]
        if mode == "reflect" and min(shape[2:]) < 3:
            return x, shape
        inputs = [x, self.constant(np.array(pads))]
        if mode == "constant":
            inputs.append(self.constant(np.float32(self.pick(0, 0.5))))
        return self.op("Pad", inputs, mode=mode), None

    def gathered(self, x, shape):
        indices = self.random.integers(-shape[1], shape[1], int(self.random.integers(1, 6)))
        return self.op("Gather", [x, self.constant(indices)], axis=1), [shape[0], len(indices), *shape[2:]]

    def blocks(self, x, shape):
        if shape[2] % 2 or shape[3] % 2:
            return x, shape
        deep = self.op("SpaceToDepth", [x], blocksize=2)
        if self.pick(True, False):
            return deep, None
        return self.op("DepthToSpace", [deep], blocksize=2, mode=self.pick("DCR", "CRD")), shape

    def mean(self, x, axes):
        if self.opset >= 18:
            return self.op("ReduceMean", [x, self.constant(np.array(axes))], keepdims=1)
        return self.op("ReduceMean", [x], axes=axes, keepdims=1)

    def layer_norm(self, x, shape):
        """As an op, or spelt out as exporters do."""
        if shape[3] < 3:  # of two numbers one is minus the other, however near they are
            return x, shape
        scale, bias = self.weights(shape[3]), self.weights(shape[3])
        if self.opset >= 17 and self.pick(True, False):
            return self.op("LayerNormalization", [x, scale, bias], axis=-1, epsilon=1e-2), shape
        centred = self.op("Sub", [x, self.mean(x, [-1])])
        square = self.op("Pow", [centred, self.constant(np.float32(2))]) if self.pick(True, False) else self.op(
            "Mul", [centred, centred])
        deviation = self.op("Sqrt", [self.op("Add", [self.mean(square, [-1]), self.constant(np.float32(1e-2))])])
        normal = self.op("Div", [centred, deviation])
        return self.op("Add", [self.op("Mul", [normal, scale]), bias]), shape

    def softmax(self, x, shape):
        """Spelt out."""
        axis = self.pick(1, 2, 3)
        exp = self.op("Exp", [self.op("Tanh", [x])])
        if self.opset >= 13:
            total = self.op("ReduceSum", [exp, self.constant(np.array([axis]))], keepdims=1)
        else:
            total = self.op("ReduceSum", [exp], axes=[axis], keepdims=1)
        return self.op("Div", [exp, total]), shape

    def attention(self, x, shape):
        """Rows that look at each other."""
        key = self.op("Transpose", [self.op("MatMul", [x, self.weights(shape[3], 4)])], perm=[0, 1, 3, 2])
        scores = self.op("Softmax", [self.op("MatMul", [self.op("MatMul", [x, self.weights(shape[3], 4)]), key])], axis=3)
        return self.op("MatMul", [scores, x]), shape

    def chosen(self, x, shape):
        where = self.op("Greater", [x, self.constant(np.float32(0.1))])
        return self.op("Where", [where, self.op("Neg", [x]), self.constant(np.float32(0.25))]), shape

    def summed(self, x, shape):
        return self.op("Tanh", [self.op("CumSum", [x, self.constant(np.int64(self.pick(1, 2, -1)))],
                                        exclusive=self.pick(0, 1), reverse=self.pick(0, 1))]), shape

    def instance_norm(self, x, shape):
        if shape[2] * shape[3] < 4:
            return x, shape
        return self.op("InstanceNormalization", [x, self.weights(shape[1]), self.weights(shape[1])], epsilon=1e-2), shape

    def make(self):
        channels = int(self.random.integers(1, 9))
        shape = [int(self.random.integers(1, 3)), channels, *(int(s) for s in self.random.integers(5, 12, 2))]
        value = "x"
        dynamic = self.pick(True, False)
        declared = [None, channels, None, None] if dynamic else shape
        layers = [self.conv, self.conv, self.deconv, self.norm, self.activation, self.activation, self.pool, self.resize,
                  self.arithmetic, self.split_and_join, self.slice, self.transposed, self.reduced, self.reshaped,
                  self.padded, self.gathered, self.blocks, self.layer_norm, self.softmax, self.attention, self.chosen, self.summed,
                  self.instance_norm]
        now = shape
        for _ in range(int(self.random.integers(1, 7))):
            value, now = layers[int(self.random.integers(len(layers)))](value, now)
            if now is None:
                now = self.shape_of(value, shape)
            if len(now) != 4 or min(now) < 1 or max(now[2:]) > 40:  # onnx's inference does not know all shapes
                break
        if value == "x":
            value = self.op("Relu", ["x"])
        return self.model(value, declared), [self.random.standard_normal(shape).astype(np.float32)]

    def model(self, output, declared):
        graph = helper.make_graph(self.nodes, "random", [helper.make_tensor_value_info("x", TensorProto.FLOAT, declared)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def shape_of(self, value, shape):
        inferred = onnx.shape_inference.infer_shapes(self.model(value, shape), data_prop=True)
        return [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim]
