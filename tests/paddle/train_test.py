"""Checkpoints of `octet train` in real Paddle: paddle.vision's networks take the parameters and give the same answers,
Paddle's optimizers take up where octet's stopped; and octet trains on from a checkpoint of Paddle's.

Needs OCTET_PROGRAM.
"""
import os
import unittest

import numpy as np
import octet_side
import paddle
from paddle.vision import models
from PIL import Image
from with_paddle import WithPaddle

CLASSES = ("blue", "green", "red")
SIZE = 32


def write_pictures(folder):
    generator = np.random.default_rng(1)
    for split, count in ("train", 4), ("val", 2):
        for channel, name in enumerate(CLASSES):
            os.makedirs(os.path.join(folder, split, name))
            for i in range(count):
                pixels = generator.integers(0, 150, (40, 40, 3), dtype=np.uint8)
                pixels[..., channel] += 100
                Image.fromarray(pixels).save(os.path.join(folder, split, name, f"{i}.png"))


def make(name):
    """Paddle's network, numbered as in a new process."""
    with paddle.utils.unique_name.guard():
        return getattr(models, name)(num_classes=len(CLASSES))


class TrainTest(WithPaddle):
    def setUp(self):
        super().setUp()
        write_pictures(self.path("data"))

    def train(self, name, *flags):
        result = octet_side.call("train", "--data-path", self.path("data"), "--model", name, "--img-size", SIZE, "-b", 6, "--epochs", 1,
                                 "--device", "cpu", "--names", "paddle.vision", "--output-dir", self.path("out"), *flags)
        self.assertEqual(result.returncode, 0, result.stderr)
        # After one epoch on noise a network may well answer one class only.
        self.assertRegex(result.stderr, r"\A(octet: warning: the network takes every p.*\n)?\Z")
        return self.path("out/latest")

    def check_parameters(self, name):
        checkpoint = self.train(name, "--lr", 0.01)
        network = make(name)
        missing, unexpected = network.set_state_dict(paddle.load(checkpoint + ".pdparams"))
        self.assertEqual((missing, unexpected), ([], []))
        network.eval()
        x = np.random.default_rng(2).standard_normal((3, 3, SIZE, SIZE)).astype("float32")
        wanted = network(paddle.to_tensor(x)).numpy()

        folder = self.path("inference")
        result = octet_side.call("export", "--model", name, "--pretrained", checkpoint, "--img-size", SIZE, "--save_inference_dir", folder,
                                 "--no-softmax")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        output = self.paddle.program(folder).fetches[0]
        got = octet_side.run(folder, {"x": x}, [output])[output]
        self.assertLess(np.abs(got - wanted).max() / np.abs(wanted).max(), 1e-4)
        return network, checkpoint

    def test_mobilenet_and_its_optimizer(self):
        network, checkpoint = self.check_parameters("mobilenet_v3_small")
        self.check_velocities(network, checkpoint)

    def test_resnet_and_its_optimizer(self):
        network, checkpoint = self.check_parameters("resnet18")
        self.check_velocities(network, checkpoint)

    def check_velocities(self, network, checkpoint):
        """A step in Paddle without gradients: what moves are the velocities that octet saved."""
        state = paddle.load(checkpoint + ".pdopt")
        schedule = paddle.optimizer.lr.StepDecay(0.01, step_size=30, gamma=0.1)
        learned = [p for p in network.parameters() if not p.stop_gradient]
        optimizer = paddle.optimizer.Momentum(schedule, momentum=0.5, parameters=learned)
        optimizer.set_state_dict(state)
        self.assertEqual(schedule.last_epoch, 1)
        self.assertAlmostEqual(optimizer.get_lr(), 0.01)
        before = {p.name: p.numpy() for p in learned}
        network.train()
        (network(paddle.zeros([2, 3, SIZE, SIZE])) * 0.0).sum().backward()
        with paddle.utils.unique_name.guard():  # the names of what it remembers, as in a new process
            optimizer.step()
        moved = 0
        for p in learned:
            velocity = state[p.name + "_velocity_0"].numpy() * np.float32(0.5)
            np.testing.assert_allclose(p.numpy(), before[p.name] - 0.01 * velocity, rtol=1e-5, atol=1e-7, err_msg=p.name)
            moved += np.abs(velocity).max() > 0
        self.assertGreater(moved, 50)

    def test_adamw(self):
        checkpoint = self.train("mobilenet_v3_small", "--opt", "adamw", "--lr", 0.001)
        network = make("mobilenet_v3_small")
        network.set_state_dict(paddle.load(checkpoint + ".pdparams"))
        state = paddle.load(checkpoint + ".pdopt")
        optimizer = paddle.optimizer.AdamW(0.001, parameters=network.parameters())
        optimizer.set_state_dict(state)
        network.train()
        (network(paddle.zeros([2, 3, SIZE, SIZE])) * 0.0).sum().backward()
        with paddle.utils.unique_name.guard():
            optimizer.step()
        name = network.parameters()[0].name
        after = optimizer.state_dict()
        np.testing.assert_allclose(after[name + "_moment1_0"].numpy(), state[name + "_moment1_0"].numpy() * 0.9, rtol=1e-4)
        # Two steps in octet and one here: Paddle has to know how many there were.
        np.testing.assert_allclose(after[name + "_beta1_pow_acc_0"].numpy(), [0.9**4], rtol=1e-5)

    def test_paddles_checkpoint_is_trained_on(self):
        network = make("mobilenet_v3_small")
        source = self.path("paddle.pdparams")
        paddle.save(network.state_dict(), source)
        checkpoint = self.train("mobilenet_v3_small", "--pretrained", source, "--lr", 0, "--weight-decay", 0)
        got = paddle.load(checkpoint + ".pdparams")
        for name, value in network.state_dict().items():
            if not name.endswith(("._mean", "._variance")):
                np.testing.assert_array_equal(got[name].numpy(), value.numpy(), err_msg=name)

    def check_quantized(self, *flags):
        """Paddle answers as octet does, from both generations of files."""
        checkpoint = self.train("mobilenet_v3_small", "--pact_quant", "--lr", 0.01, *flags)
        x = np.random.default_rng(2).standard_normal((100, 3, SIZE, SIZE)).astype("float32")
        for onnx_format in "True", "False":
            folder = self.path("int8_" + onnx_format)
            result = octet_side.call("export", "--model", "mobilenet_v3_small", "--pretrained", checkpoint, "--img-size", SIZE,
                                     "--save_inference_dir", folder, "--no-softmax", "--onnx_format", onnx_format)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            output = self.paddle.program(folder).fetches[0]
            got = octet_side.run(folder, {"x": x}, [output])[output]
            wanted = self.paddle.run(folder, [{"x": x}])[0][output]
            cosine = (got * wanted).sum() / np.linalg.norm(got) / np.linalg.norm(wanted)
            self.assertGreater(cosine, 0.9999)
            self.assertGreaterEqual((got.argmax(1) == wanted.argmax(1)).mean(), 0.99)

    def test_a_network_trained_for_8_bits(self):
        self.check_quantized()

    def test_a_network_trained_for_4_bits(self):
        self.check_quantized("--weight_bits", 4, "--activation_bits", 4, "--activation_preprocess_type", "LSQ", "--weight_preprocess_type", "LSQ")


if __name__ == "__main__":
    unittest.main()
