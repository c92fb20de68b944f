"""Paddle 3's files, made by Paddle itself in a child process: exports of networks, and translations of the older files.

    paddle3_models.py export OUT_DIR NAME...       a folder for each network, by paddle.jit.save
    paddle3_models.py static OUT_DIR NAME...       the same, built as a static program, by save_inference_model
    paddle3_models.py quantize OUT_DIR NAME...     a small network, quantized by one of the tools of Paddle 3, with an input and what Paddle made of it
    paddle3_models.py translate OUT_DIR FOLDER...  each of these older models, by load_inference_model and save_inference_model
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np

import weights

HERE = pathlib.Path(__file__).resolve().parent


def vision(name):
    def build(paddle):
        net = getattr(paddle.vision.models, name)(pretrained=False)
        rng = np.random.default_rng(1)
        for layer in net.sublayers() if paddle.in_dynamic_mode() else ():
            if isinstance(layer, paddle.nn.BatchNorm2D):
                layer.weight.set_value(rng.uniform(0.8, 1.2, layer.weight.shape).astype(np.float32))
                layer.bias.set_value(rng.normal(0, 0.1, layer.bias.shape).astype(np.float32))
        return net, [[None, 3, None, None]]

    return build


def segmentation(make):
    def build(paddle):
        from paddleseg import models

        net = make(models)
        if paddle.in_dynamic_mode():
            weights.randomize(net, 3)
        return net, [[None, 3, None, None]]

    return build


def every_op(paddle):
    """What exporters write and the translated models do not have: 0-d numbers, computed sizes, lists, int64 shapes."""
    nn, functional = paddle.nn, paddle.nn.functional

    class EveryOp(nn.Layer):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2D(4, 6, 3, padding=1)
            self.depthwise = nn.Conv2D(6, 6, 3, padding="SAME", groups=6, bias_attr=False)
            self.up = nn.Conv2DTranspose(6, 4, 2, stride=2)
            self.norm = nn.BatchNorm2D(6)
            self.layer_norm = nn.LayerNorm(6)
            self.linear = nn.Linear(6, 5)
            self.prelude = self.create_parameter([1, 6, 1, 1])

        def forward(self, x):
            y = functional.leaky_relu(self.norm(self.conv(x)), 0.2)
            z = functional.hardswish(self.depthwise(y)) + self.prelude
            batch, _, height, width = paddle.shape(z)
            tokens = paddle.transpose(paddle.reshape(z, [batch, 6, height * width]), [0, 2, 1])
            tokens = self.layer_norm(functional.gelu(tokens))
            scores = functional.softmax(paddle.matmul(tokens, tokens, transpose_y=True) * 0.4)
            back = paddle.reshape(paddle.transpose(paddle.matmul(scores, tokens), [0, 2, 1]), [-1, 6, height, width])
            first, second = paddle.split(back, 2, axis=1)
            third, fourth = paddle.split(y, [2, -1], axis=1)
            joined = paddle.concat([first, functional.silu(second)], axis=1)
            sized = functional.interpolate(joined, size=[height * 2, width * 2], mode="bilinear")
            scaled = functional.interpolate(joined, scale_factor=2, mode="nearest")
            padded = functional.pad(third, [1, 2, 0, 1], mode="reflect")
            pooled = functional.adaptive_avg_pool2d(fourth, 1)
            pooled = paddle.squeeze(functional.max_pool2d(pooled, 1), [2, 3])
            flat = functional.relu6(self.linear(paddle.mean(z, [2, 3])))
            stacked = paddle.stack([flat, functional.sigmoid(flat), paddle.tanh(flat)], axis=1)
            clipped = paddle.clip(paddle.exp(stacked[:, 1:, ::1] - 1.0), 0.2, 1.5)
            powered = paddle.sqrt(paddle.abs(clipped)) ** 1.5 / 3 + paddle.maximum(clipped, paddle.minimum(clipped, clipped * 0.5))
            best = paddle.argmax(joined, axis=1)
            sums = paddle.sum(z, axis=[1], keepdim=True) + paddle.max(z, axis=1, keepdim=True)
            whole = paddle.cast(paddle.full([2, 3], 2.5), "int32")
            return (self.up(z), sized, scaled, padded, pooled, powered, best, sums, whole, paddle.unsqueeze(flat, [0, -1]),
                    paddle.flatten(functional.dropout(z, 0.3, training=False), 2), paddle.to_tensor([[1.5, 2.5], [3.0, 4.0]]) * 2.0)

    return EveryOp(), [[None, 4, None, None]]


def layer_of(paddle, parameters, forward, shape):
    """A network of ops that paddle.nn has no layers for: `parameters` are shapes, `forward` gets them by name."""

    class Ops(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            rng = np.random.default_rng(3)
            for name, dims in parameters.items():
                values = rng.uniform(0.2, 1.5, dims).astype(np.float32)
                setattr(self, name, self.create_parameter(dims, default_initializer=paddle.nn.initializer.Assign(values)))

        def forward(self, x):
            return forward(self, x)

    return Ops(), [shape]


def rare_ops(paddle):
    """Float ops that the layers of paddle.nn don't come to."""
    ops, functional = paddle._C_ops, paddle.nn.functional

    def forward(net, x):
        flat = paddle.mean(x, [2, 3])
        return (ops.depthwise_conv2d_transpose(x, net.filter, [2, 2], [1, 1], [], [], "EXPLICIT", 6, [1, 1], "NCHW"),
                ops.batch_norm(x, net.mean, net.variance, net.scale, net.bias, True, 0.9, 1e-5, "NCHW", True, False)[0],
                ops.batch_norm_(x, net.mean, net.variance, net.scale, net.bias, True, 0.9, 1e-3, "NCHW", True, False)[0],
                ops.matmul_with_flatten(flat, net.matrix, 1, 1), ops.full_with_tensor(paddle.full([1], 2.5), paddle.shape(x), paddle.float32), ops.shape(x),
                ops.pad(x, [0, 0, 0, 0, 1, 2, 3, 0], 1.5), ops.elementwise_pow(paddle.abs(x), net.one), ops.pow(paddle.abs(x), 1.5), ops.swish(x), ops.assign(functional.hardsigmoid(x)),
                *[getattr(paddle, name)(paddle.abs(x) * 3 - (0 if name == "log" else 4)) for name in ("erf", "log", "floor", "ceil", "sign")],
                *[paddle.cast(getattr(paddle, name)(x, 0 * x + net.one), "float32") for name in ("less_than", "less_equal", "equal", "greater_than", "greater_equal")],
                paddle.min(x, [1], keepdim=True), functional.relu(x - 0.5) - x * x + functional.avg_pool2d(x, 3, 1, 1, ceil_mode=True))

    return layer_of(paddle, {"filter": [6, 1, 3, 3], "mean": [6], "variance": [6], "scale": [6], "bias": [6], "matrix": [6, 5], "one": [1]}, forward, [None, 6, None, None])


def fake_ops(paddle):
    """The quantization ops of the older generation, with both kinds of rounding."""
    ops = paddle._C_ops

    def forward(net, x):
        results = [ops.moving_average_abs_max_scale(x, net.one, net.one, 0.9, True)[0]]
        for rounding in (0, 1):
            results += [*ops.fake_quantize_abs_max(x, 8, rounding), *ops.fake_quantize_dequantize_abs_max(x, 8, rounding),
                        *ops.fake_channel_wise_quantize_abs_max(x, 8, rounding, 1, False), *ops.fake_channel_wise_quantize_dequantize_abs_max(x, 8, rounding, 1)]
            for in_place in ("", "_"):
                fixed = (net.one, None, None, 0.9, 8, True, rounding)
                integers = getattr(ops, "fake_quantize_moving_average_abs_max" + in_place)(x, *fixed)[0]
                results += [integers, getattr(ops, "fake_quantize_dequantize_moving_average_abs_max" + in_place)(x, *fixed)[0],
                            getattr(ops, "fake_quantize_range_abs_max" + in_place)(x, net.one, None, 10000, 8, True, rounding)[0],
                            ops.fake_dequantize_max_abs(integers, net.one, 127.0), ops.fake_channel_wise_dequantize_max_abs(integers, [net.channels], [8], 1, 1)]
        return results

    return layer_of(paddle, {"one": [1], "channels": [6]}, forward, [None, 6, None, None])


def recurrent(paddle):
    """LSTMs: two layers in both directions, one in one direction, its last states, sequences of different lengths."""
    nn = paddle.nn

    class Recurrent(nn.Layer):
        def __init__(self):
            super().__init__()
            self.both, self.linear = nn.LSTM(6, 8, num_layers=2, direction="bidirect"), nn.Linear(16, 3)
            self.one = nn.LSTM(3, 5)

        def forward(self, x):
            hidden = nn.functional.relu(self.linear(self.both(x)[0]))
            y, (last, cell) = self.one(hidden)
            lengths = paddle.full([paddle.shape(x)[0]], 4, "int64")
            return hidden, y, last, cell, self.both(x, sequence_length=lengths)[0]

    return Recurrent(), [[None, None, 6]]


def gated(paddle):
    """A network with an op that octet does not compute: it is carried along, lists, states and all."""
    nn = paddle.nn

    class Gated(nn.Layer):
        def __init__(self):
            super().__init__()
            self.gru, self.linear = nn.GRU(6, 8, direction="bidirect"), nn.Linear(16, 3)

        def forward(self, x):
            return nn.functional.relu(self.linear(self.gru(x)[0]))

    return Gated(), [[None, 7, 6]]


def constant_branches(paddle):
    """Control flow whose condition is a constant: one block runs, whatever the input is."""
    cond = paddle.static.nn.cond

    class ConstantBranches(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.linear = paddle.nn.Linear(6, 6)

        def forward(self, x):
            y = paddle.nn.functional.relu(x)
            yes, no = paddle.full([], True, "bool"), paddle.full([1], 3, "int32") < paddle.full([1], 2, "int32")
            inner = lambda: cond(no, lambda: y * 3.0, lambda: self.linear(y) * 5.0)
            first, second = cond(yes, lambda: (self.linear(y), y), lambda: (y - 1.0, y + 2.0))
            return first, second, cond(no, lambda: y - 7.0, inner)

    return ConstantBranches(), [[None, 6]]


def branching(paddle):
    """Control flow: a block inside an op, which reads what is outside of it."""

    class Branching(paddle.nn.Layer):
        def forward(self, x):
            y = paddle.nn.functional.relu(x)
            if paddle.mean(x) > 0:
                return y * 2.0
            return y - 1.0

    return Branching(), [[None, 6]]


# For every test run, and for `make test-paddle3`.
SMALL = {function.__name__: function for function in (every_op, rare_ops, fake_ops, recurrent, gated, branching, constant_branches)}
SMALL["mobilenet_v3_small"] = vision("mobilenet_v3_small")
LARGE = {name: vision(name) for name in ("mobilenet_v1", "mobilenet_v2", "mobilenet_v3_large", "resnet18", "resnet50")}
LARGE |= {
    "bisenetv2": segmentation(lambda models: models.BiSeNetV2(7)),
    "pp_liteseg": segmentation(lambda models: models.PPLiteSeg(7, models.STDC1())),
    "deeplabv3p": segmentation(lambda models: models.DeepLabV3P(7, models.ResNet50_vd())),
}
NETWORKS = SMALL | LARGE
STATIC = ["mobilenet_v3_small", *LARGE]  # what can be built without a layer that is traced


def export(name, folder):
    import paddle

    paddle.seed(5)
    net, shapes = NETWORKS[name](paddle)
    net.eval()
    specs = [paddle.static.InputSpec(shape, "float32", f"x{i}" if i else "x") for i, shape in enumerate(shapes)]
    paddle.jit.save(paddle.jit.to_static(net, full_graph=True), str(folder / "inference"), input_spec=specs)
    if name == "fake_ops":
        measure(folder / "inference.json")


def measure(file):
    """Exporting sets is_test everywhere; an op that was asked to measure its scale in each run goes back to that."""
    program = json.loads(file.read_text())
    for op in program["program"]["regions"][0]["blocks"][0]["ops"]:
        for attr in op["A"] if op["#"] == "1.fake_channel_wise_quantize_abs_max" else ():
            if attr["N"] == "is_test":
                attr["AT"]["D"] = False
    file.write_text(json.dumps(program, separators=(",", ":"), sort_keys=True, ensure_ascii=False))


def export_static(name, folder):
    import paddle

    paddle.enable_static()
    paddle.seed(5)
    program, startup = paddle.static.Program(), paddle.static.Program()
    executor = paddle.static.Executor(paddle.CPUPlace())
    folder.mkdir(parents=True)
    with paddle.static.scope_guard(paddle.static.Scope()), paddle.static.program_guard(program, startup):
        net, shapes = NETWORKS[name](paddle)
        net.eval()
        inputs = [paddle.static.data(f"x{i}" if i else "x", shape, "float32") for i, shape in enumerate(shapes)]
        outputs = net(*inputs)
        executor.run(startup)
        paddle.static.save_inference_model(str(folder / "inference"), inputs, outputs, executor, program=program)


def translate(model, folder):
    import paddle

    paddle.enable_static()
    executor = paddle.static.Executor(paddle.CPUPlace())
    folder.mkdir(parents=True)
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, _, fetches = paddle.static.load_inference_model(str(model / "inference"), executor)
        inputs = [op.result(0) for op in program.global_block().ops if op.name() == "pd_op.data"]
        with paddle.pir_utils.IrGuard():
            paddle.static.save_inference_model(str(folder / "inference"), inputs, fetches, executor, program=program)


def quantizers(name):
    """For activations and for weights; the tool that puts them in."""
    from paddle import quantization
    from paddle.quantization import observers, quanters

    if name == "qat":
        fake = quanters.FakeQuanterWithAbsMaxObserver(moving_rate=0.9)
        return quantization.QAT(quantization.QuantConfig(activation=fake, weight=fake))
    if name == "ptq":
        observer = observers.AbsmaxObserver(quant_bits=8)
        return quantization.PTQ(quantization.QuantConfig(activation=observer, weight=observer))
    from paddleslim.quant import observers as slim

    return quantization.PTQ(quantization.QuantConfig(activation=slim.HistObserver(), weight=slim.AbsMaxChannelWiseWeightObserver()))


QUANTIZED = ("ptq", "ptq_channels", "qat")  # "qat" can't be converted: it is saved as it was trained


def quantize(name, folder):
    import paddle

    class Small(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.first, self.second = paddle.nn.Conv2D(3, 8, 3, padding=1), paddle.nn.Conv2D(8, 8, 3, groups=8, padding=1)
            self.last = paddle.nn.Linear(8, 5)

        def forward(self, x):
            y = paddle.nn.functional.hardswish(self.second(paddle.nn.functional.relu(self.first(x))))
            return self.last(paddle.mean(y, [2, 3]))

    paddle.seed(1)
    rng, shape = np.random.default_rng(1), [2, 3, 16, 16]  # the tools can't save networks for any batch
    net, tool = Small(), quantizers(name)
    net.train() if name == "qat" else net.eval()
    net = tool.quantize(net)
    for _ in range(4):
        net(paddle.to_tensor(rng.normal(0, 1, shape).astype(np.float32)))
    net.eval()
    if name != "qat":
        net = tool.convert(net)
        net.eval()
    x = rng.normal(0, 1, shape).astype(np.float32)
    y = net(paddle.to_tensor(x)).numpy()
    paddle.jit.save(paddle.jit.to_static(net, full_graph=True), str(folder / "inference"), input_spec=[paddle.static.InputSpec(shape, "float32", "x")])
    np.savez(folder / "reference.npz", x=x, y=y)


def make(kind, out_dir, *sources):
    # Translating takes the older reader and the newer executor.
    older = {"FLAGS_enable_pir_api": "0", "FLAGS_enable_pir_in_executor": "1"} if kind == "translate" else {}
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLOG_minloglevel": "3"} | older
    command = [sys.executable, __file__, kind, out_dir, *sources]
    result = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, errors="replace", timeout=600)
    if result.returncode != 0:
        raise AssertionError(f"Paddle can't {kind} {sources}:\n{result.stderr[-2000:]}")


def main():
    kind, out_dir, *sources = sys.argv[1:]
    for source in sources:
        folder = pathlib.Path(out_dir) / pathlib.Path(source).name
        if kind == "export":
            export(source, folder)
        elif kind == "static":
            export_static(source, folder)
        elif kind == "quantize":
            quantize(source, folder)
        else:
            translate(pathlib.Path(source), folder)


if __name__ == "__main__":
    main()
