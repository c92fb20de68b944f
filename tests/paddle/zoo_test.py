"""The zoo's networks and their checkpoints against those of paddle.vision: the same parameters, the same answers.

Needs OCTET_PROGRAM and OCTET_ZOO_TOOL, the program octet_zoo_tool.
"""
import os
import subprocess
import unittest

import numpy as np
import octet_side
import paddle
import weights
from paddle import nn
from paddle.vision import models
from with_paddle import WithPaddle

TOOL = os.environ["OCTET_ZOO_TOOL"]
CLASSES = 7
# Networks, widths (None: the network has none in Paddle) and image sizes.
CASES = [
    ("mobilenet_v3_small", 1.0, 64),
    ("mobilenet_v3_small", 0.35, 32),
    ("mobilenet_v3_large", 0.75, 48),
    ("mobilenet_v2", 1.0, 64),
    ("mobilenet_v2", 0.35, 33),
    ("mobilenet_v1", 0.35, 40),
    ("resnet18", None, 64),
    ("resnet34", None, 32),
    ("resnet50", None, 47),
    ("efficientnet_lite0", None, 64),
    ("efficientnet_lite0", None, 45),
]
TOLERANCE = 1e-4


class LiteBlock(nn.Layer):
    """An inverted residual of EfficientNet-Lite0. Paddle pads with SAME as TensorFlow does."""

    def __init__(self, inputs, outputs, kernel, stride, expansion):
        super().__init__()
        inner = inputs * expansion
        self.expands, self.is_residual = expansion != 1, stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv = nn.Conv2D(inputs, inner, 1, bias_attr=False)
            self._bn0 = nn.BatchNorm2D(inner, epsilon=1e-3)
        self._depthwise_conv = nn.Conv2D(inner, inner, kernel, stride, "SAME", groups=inner, bias_attr=False)
        self._bn1 = nn.BatchNorm2D(inner, epsilon=1e-3)
        self._project_conv = nn.Conv2D(inner, outputs, 1, bias_attr=False)
        self._bn2 = nn.BatchNorm2D(outputs, epsilon=1e-3)

    def forward(self, x):
        y = nn.functional.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        y = nn.functional.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.is_residual else y


class EfficientNetLite0(nn.Layer):
    """Paddle has none. The names are those of the PyTorch package that has its authors' weights."""

    # expansion, outputs, blocks, kernel, stride of the first
    STAGES = ((1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2), (6, 112, 3, 5, 1), (6, 192, 4, 5, 2), (6, 320, 1, 3, 1))

    def __init__(self, num_classes):
        super().__init__()
        self._conv_stem = nn.Conv2D(3, 32, 3, 2, "SAME", bias_attr=False)
        self._bn0 = nn.BatchNorm2D(32, epsilon=1e-3)
        blocks, inputs = [], 32
        for expansion, outputs, count, kernel, stride in self.STAGES:
            for i in range(count):
                blocks.append(LiteBlock(inputs, outputs, kernel, stride if i == 0 else 1, expansion))
                inputs = outputs
        self._blocks = nn.Sequential(*blocks)
        self._conv_head = nn.Conv2D(320, 1280, 1, bias_attr=False)
        self._bn1 = nn.BatchNorm2D(1280, epsilon=1e-3)
        self._fc = nn.Linear(1280, num_classes)

    def forward(self, x):
        x = self._blocks(nn.functional.relu6(self._bn0(self._conv_stem(x))))
        x = nn.functional.relu6(self._bn1(self._conv_head(x)))
        return self._fc(x.mean([2, 3]))


def make(name, width):
    """Paddle's network with random parameters and statistics, numbered as in a new process."""
    build = EfficientNetLite0 if name == "efficientnet_lite0" else getattr(models, name)
    with paddle.utils.unique_name.guard():
        network = build(num_classes=CLASSES, **({} if width is None else {"scale": width}))
    weights.randomize(network, len(name))
    return network


class ZooTest(WithPaddle):
    def rename(self, name, width, source, naming, target):
        result = subprocess.run([TOOL, name, str(width or 1.0), source, naming, target], capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return paddle.load(target)

    def check_close(self, got, wanted):
        error = np.abs(got - wanted).max() / np.abs(wanted).max()
        self.assertLess(error, TOLERANCE)

    def export(self, name, width, size, checkpoint, *flags):
        target = self.path("inference")
        result = octet_side.call("export", "--model", name, "--pretrained", checkpoint, "--width", width or 1.0, "--img-size", size,
                                 "--save_inference_dir", target, *flags)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return target

    def output_of(self, folder, x):
        output = self.paddle.program(folder).fetches[0]
        return octet_side.run(folder, {"x": x}, [output])[output]

    def check_network(self, name, width, size):
        network = make(name, width)
        state = network.state_dict()
        paddle.save(state, self.path("theirs.pdparams"))
        x = np.random.default_rng(3).standard_normal((2, 3, size, size)).astype("float32")
        scores = network(paddle.to_tensor(x)).numpy()
        self.assertGreater(np.abs(scores).max(), 0.1)

        # Their checkpoint: octet's answer, from scores and with softmax.
        self.check_close(self.output_of(self.export(name, width, size, self.path("theirs"), "--no-softmax"), x), scores)
        exported = self.export(name, width, size, self.path("theirs.pdparams"), "--num-classes", CLASSES)
        probabilities = paddle.nn.functional.softmax(paddle.to_tensor(scores)).numpy()
        self.check_close(self.output_of(exported, x), probabilities)
        # Paddle runs octet's file.
        (answer,) = self.paddle.run(exported, [{"x": x}])[0].values()
        self.check_close(answer, probabilities)

        # To the reference pipeline's names and back: the same state, variables' names and order included.
        self.rename(name, width, self.path("theirs.pdparams"), "reference", self.path("reference.pdparams"))
        back = self.rename(name, width, self.path("reference.pdparams"), "paddle", self.path("back.pdparams"))
        self.assertEqual(list(back), list(state))
        for key, value in state.items():
            self.assertEqual(back[key].name, value.name)
            np.testing.assert_array_equal(back[key].numpy(), value.numpy())
        self.check_close(self.output_of(self.export(name, width, size, self.path("reference"), "--no-softmax"), x), scores)

        # octet's fresh weights in Paddle's network.
        fresh = self.rename(name, width, "-", "paddle", self.path("fresh.pdparams"))
        self.assertEqual(network.set_state_dict(fresh), ([], []))
        scores = network(paddle.to_tensor(x)).numpy()
        self.check_close(self.output_of(self.export(name, width, size, self.path("fresh"), "--no-softmax"), x), scores)

    def test_another_network(self):
        paddle.save(make("resnet18", None).state_dict(), self.path("resnet18.pdparams"))
        result = octet_side.call("export", "--pretrained", self.path("resnet18.pdparams"), "--save-inference-dir", self.path("out"))
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^octet: error: .*resnet18.pdparams: has no classifier.3.weight .*another network\?\n$")
        result = octet_side.call("export", "--model", "resnet34", "--pretrained", self.path("resnet18.pdparams"), "--save-inference-dir",
                                 self.path("out"))
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"^octet: error: .*does not fit resnet34: \d+ missing \(layer1.2.conv1.weight 64x64x3x3, .*\n$")
        self.assertFalse(os.path.exists(self.path("out")))


def case(name, width, size):
    return lambda self: self.check_network(name, width, size)


for name, width, size in CASES:
    setattr(ZooTest, f"test_{name}_{width or 1.0}_{size}".replace(".", "_"), case(name, width, size))

if __name__ == "__main__":
    unittest.main()
