"""The zoo's segmentation networks and their checkpoints against those of PaddleSeg: the same parameters, the same answers.

Needs OCTET_PROGRAM, OCTET_ZOO_TOOL and OCTET_SEGMENTATION_TOOL.
"""
import os
import subprocess
import unittest

import numpy as np
import octet_side
import paddle
import weights
from paddleseg import models
from paddleseg.models.backbones import STDC1, STDC2, ResNet50_vd
from with_paddle import WithPaddle

ZOO_TOOL, TOOL = os.environ["OCTET_ZOO_TOOL"], os.environ["OCTET_SEGMENTATION_TOOL"]
CLASSES = 7
NETWORKS = {
    "bisenetv2": lambda: models.BiSeNetV2(CLASSES),
    "deeplabv3_resnet50_os8": lambda: models.DeepLabV3(CLASSES, ResNet50_vd()),
    "deeplabv3p_resnet50_os8": lambda: models.DeepLabV3P(CLASSES, ResNet50_vd()),
    "deeplabv3p_resnet50_os16": lambda: models.DeepLabV3P(CLASSES, ResNet50_vd(output_stride=16)),
    "gcnet_resnet50_os8": lambda: models.GCNet(CLASSES, ResNet50_vd()),
    "pspnet_resnet50_os8": lambda: models.PSPNet(CLASSES, ResNet50_vd()),
    "unet": lambda: models.UNet(CLASSES),
    "pp_liteseg_stdc1": lambda: models.PPLiteSeg(CLASSES, STDC1()),
    "pp_liteseg_stdc2": lambda: models.PPLiteSeg(CLASSES, STDC2()),
}
RETURNS_AUXILIARY = ("gcnet", "pspnet")  # also when it answers
TOLERANCE = 1e-4
AGREEMENT = 0.999


def make(name):
    """PaddleSeg's network with random parameters, numbered as in a new process."""
    with paddle.utils.unique_name.guard():
        network = NETWORKS[name]()
    weights.randomize(network, len(name))
    return network


def answers(network, x):
    with paddle.no_grad():
        return [scores.numpy() for scores in network(paddle.to_tensor(x))]


def picture(height, width):
    return np.random.default_rng(height).standard_normal((1, 3, height, width)).astype("float32")


class SegmentationTest(WithPaddle):
    def call(self, *arguments):
        result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=120)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def export(self, name, checkpoint, *words):
        folder = self.path("_".join(["inference", *words]))
        self.call(TOOL, name, checkpoint, folder, *words)
        return folder

    def outputs_of(self, folder, x):
        names = self.paddle.program(folder).fetches
        outputs = octet_side.run(folder, {"x": x}, names, threads=2)
        return [outputs[name] for name in names]

    def check_scores(self, got, wanted):
        self.assertEqual(got.shape, wanted.shape)
        self.assertGreater(np.abs(wanted).max(), 0.01)
        self.assertLess(np.abs(got - wanted).max() / np.abs(wanted).max(), TOLERANCE)
        self.check_classes(got.argmax(1), wanted.argmax(1))

    def check_classes(self, got, wanted):
        self.assertEqual(got.shape, wanted.shape)
        self.assertGreaterEqual((got == wanted).mean(), AGREEMENT)

    def check_network(self, name):
        network = make(name)
        state = network.state_dict()
        theirs = self.path("theirs.pdparams")
        paddle.save(state, theirs)
        keeps = ["aux"] if name.startswith(RETURNS_AUXILIARY) else []

        # Their checkpoint in octet, which octet runs and Paddle runs.
        folder = self.export(name, theirs, "none", *keeps)
        for x in (picture(64, 96), picture(75, 101)):
            wanted = answers(network, x)
            got = self.outputs_of(folder, x)
            self.assertEqual(len(got), len(wanted))
            for a, b in zip(got, wanted):
                self.check_scores(a, b)
            for a, b in zip(self.paddle.run(folder, [{"x": x}])[0].values(), wanted):
                self.check_scores(a, b)

        # What is appended to the main output alone, also for pictures of one size.
        x = picture(64, 96)
        scores = answers(network, x)[0]
        probabilities = paddle.nn.functional.softmax(paddle.to_tensor(scores), axis=1).numpy()
        for words, dtype in ((("argmax",), "int64"), (("argmax", "int32", "1x3x64x96"), "int32"), (("softmax", "1x3x64x96"), "float32")):
            folder = self.export(name, theirs, *words)
            ours, paddles = self.outputs_of(folder, x), list(self.paddle.run(folder, [{"x": x}])[0].values())
            self.assertEqual((len(ours), len(paddles)), (1, 1))
            for result in ours[0], paddles[0]:
                self.assertEqual(result.dtype, dtype)
                if words[0] == "argmax":
                    self.check_classes(result, scores.argmax(1))
                else:
                    # A score that is off by d moves a probability by at most d / 2.
                    self.assertLess(np.abs(result - probabilities).max(), TOLERANCE * max(1, np.abs(scores).max()) / 2)

        # Through octet and back: the same state, variables' names and order included.
        self.call(ZOO_TOOL, name, 1.0, theirs, "reference", self.path("back.pdparams"))
        back = paddle.load(self.path("back.pdparams"))
        self.assertEqual(list(back), list(state))
        for key, value in state.items():
            self.assertEqual(back[key].name, value.name)
            np.testing.assert_array_equal(back[key].numpy(), value.numpy())

        # octet's fresh weights in PaddleSeg's network.
        fresh = self.path("fresh.pdparams")
        self.call(ZOO_TOOL, name, 1.0, "-", "reference", fresh)
        self.assertEqual(network.set_state_dict(paddle.load(fresh)), ([], []))
        wanted = answers(network, x)[0]
        got = self.outputs_of(self.export(name, fresh, "none"), x)[0]
        self.assertLess(np.abs(got - wanted).max(), TOLERANCE * np.abs(wanted).max())

    def test_unet_that_upsamples_by_convolutions(self):
        with paddle.utils.unique_name.guard():
            network = models.UNet(CLASSES, use_deconv=True)
        weights.randomize(network, 5)
        paddle.save(network.state_dict(), self.path("deconv.pdparams"))
        x = picture(64, 96)
        folder = self.export("unet", self.path("deconv.pdparams"), "none", "deconv")
        self.check_scores(self.outputs_of(folder, x)[0], answers(network, x)[0])


def case(name):
    return lambda self: self.check_network(name)


for name in NETWORKS:
    setattr(SegmentationTest, f"test_{name}", case(name))

if __name__ == "__main__":
    unittest.main()
