"""Paddle 3's files, made by Paddle itself in a child process: exports of networks, and translations of the older files.

    paddle3_models.py export OUT_DIR NAME...       a folder for each network, by paddle.jit.save
    paddle3_models.py static OUT_DIR NAME...       the same, built as a static program, by save_inference_model
    paddle3_models.py translate OUT_DIR FOLDER...  each of these older models, by load_inference_model and save_inference_model
"""

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


def recurrent(paddle):
    """A network with an op that octet does not compute: it is carried along, lists, states and all."""
    nn = paddle.nn

    class Recurrent(nn.Layer):
        def __init__(self):
            super().__init__()
            self.lstm, self.linear = nn.LSTM(6, 8, direction="bidirect"), nn.Linear(16, 3)

        def forward(self, x):
            return nn.functional.relu(self.linear(self.lstm(x)[0]))

    return Recurrent(), [[None, 7, 6]]


def branching(paddle):
    """Control flow: a block inside an op, which reads what is outside of it."""

    class Branching(paddle.nn.Layer):
        def forward(self, x):
            y = paddle.nn.functional.relu(x)
            if paddle.mean(x) > 0:
                return y * 2.0
            return y - 1.0

    return Branching(), [[None, 6]]


NETWORKS = {name: vision(name) for name in ("mobilenet_v1", "mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "resnet18", "resnet50")}
NETWORKS |= {
    "bisenetv2": segmentation(lambda models: models.BiSeNetV2(7)),
    "pp_liteseg": segmentation(lambda models: models.PPLiteSeg(7, models.STDC1())),
    "deeplabv3p": segmentation(lambda models: models.DeepLabV3P(7, models.ResNet50_vd())),
}
STATIC = list(NETWORKS)  # what can be built without a layer that is traced
NETWORKS |= {"every_op": every_op, "recurrent": recurrent, "branching": branching}


def export(name, folder):
    import paddle

    paddle.seed(5)
    net, shapes = NETWORKS[name](paddle)
    net.eval()
    specs = [paddle.static.InputSpec(shape, "float32", f"x{i}" if i else "x") for i, shape in enumerate(shapes)]
    paddle.jit.save(paddle.jit.to_static(net, full_graph=True), str(folder / "inference"), input_spec=specs)


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
        else:
            translate(pathlib.Path(source), folder)


if __name__ == "__main__":
    main()
