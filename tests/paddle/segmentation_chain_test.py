"""What octet exports of segmentation networks that it trained, in float, quantized with a few pictures and by training, in real Paddle: the
same class for nearly every pixel as in octet.

Needs OCTET_PROGRAM.
"""
import glob
import unittest

import numpy as np
import octet_side
from PIL import Image
from with_paddle import WithPaddle

SIZE = 96
# Narrow networks learn as quickly as they run.
NETWORKS = {
    "BiSeNetV2": ("{type: BiSeNetV2, width: 0.5}", 5),
    "PPLiteSeg": ("{type: PPLiteSeg, width: 0.5, backbone: {type: STDC1}}", 3),
    "DeepLabV3P": ("{type: DeepLabV3P, width: 0.25, backbone: {type: ResNet50_vd, output_stride: 8}}", 1),
}
CONFIG = """
batch_size: 4
iters: 120
train_dataset: {{type: OpticDiscSeg, dataset_root: {data}, mode: train, transforms: [{{type: RandomHorizontalFlip}}, {{type: Normalize}}]}}
val_dataset: {{type: OpticDiscSeg, dataset_root: {data}, mode: val, transforms: [{{type: Normalize}}]}}
optimizer: {{type: sgd, momentum: 0.9, weight_decay: 4.0e-5}}
lr_scheduler: {{type: PolynomialDecay, learning_rate: 0.05, end_lr: 0, power: 0.9}}
loss: {{types: [{{type: CrossEntropyLoss}}], coef: {coef}}}
model: {model}
"""
FLOAT, INT8 = 0.999, 0.995


class SegmentationChainTest(WithPaddle):
    def call(self, *arguments):
        result = octet_side.call(*arguments, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)

    def pictures(self):
        for file in sorted(glob.glob(self.path("data/JPEGImages/*")))[:6]:
            pixels = np.asarray(Image.open(file).convert("RGB"), np.float32)
            yield ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].astype("float32")

    def check(self, folder, agreement):
        names = self.paddle.program(folder).fetches
        self.assertEqual(len(names), 1)
        xs = list(self.pictures())
        wanted = np.concatenate([next(iter(found.values())) for found in self.paddle.run(folder, [{"x": x} for x in xs])])
        got = np.concatenate([octet_side.run(folder, {"x": x}, names)[names[0]] for x in xs])
        self.assertEqual(got.shape, (len(xs), SIZE, SIZE))
        self.assertTrue(0.005 < wanted.mean() < 0.9, wanted.mean())  # both classes are there
        self.assertGreaterEqual((got == wanted).mean(), agreement, folder)

    def check_chain(self, name):
        model, outputs = NETWORKS[name]
        self.call("data", "synth-disc", "--output", self.path("data"), "--count", 20, "--size", f"{SIZE}x{SIZE}")
        config = self.path("config.yml")
        with open(config, "w") as file:
            file.write(CONFIG.format(data=self.path("data"), coef=[1] * outputs, model=model))
        train = ["train", "--config", config, "--threads", 2, "--device", "cpu", "--save_interval", 1000]
        self.call(*train, "--save_dir", self.path("float"))
        weights = self.path("float/iter_120/model.pdparams")
        self.call("export", "--config", config, "--model_path", weights, "--save_dir", self.path("fp32"))
        self.check(self.path("fp32"), FLOAT)

        self.call("ptq", "--config", config, "--model_path", self.path("fp32"), "--output_dir", self.path("ptq"))
        self.check(self.path("ptq"), INT8)
        self.call("ptq", "--config", config, "--model_path", self.path("fp32"), "--output_dir", self.path("slim"), "--deploy", "paddle",
                  "--onnx_format", "False", "--fast")
        self.check(self.path("slim"), INT8)

        self.call(*train, "--qat", "--model_path", weights, "--learning_rate", 0.002, "--iters", 8, "--save_dir", self.path("qat"))
        self.call("export", "--config", config, "--model_path", self.path("qat/iter_8/model.pdparams"), "--save_dir", self.path("int8"))
        self.check(self.path("int8"), INT8)


for name in NETWORKS:
    setattr(SegmentationChainTest, f"test_{name}", lambda self, name=name: self.check_chain(name))

if __name__ == "__main__":
    unittest.main()
