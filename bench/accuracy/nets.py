#!/usr/bin/env python3
"""The networks with trained weights and their pictures: nets.py NETWORK FOLDER [PICTURES]

efficientnet_lite0   trained on ImageNet by its authors; PICTURES is a folder with list.txt ("file label" lines)
fashion              paddle.vision's mobilenet_v3_small, trained here on Fashion-MNIST in some minutes
fashion_mobilenet_v3_small, fashion_mobilenet_v2, fashion_resnet18   trained on Fashion-MNIST by octet, in a minute or two each
mobilenet_v3_small   the same with random weights and JPEG pictures, to measure time

Writes inference.pdmodel and inference.pdiparams, model.onnx, calibrate.npy, truth.npy and views_NN.npy: the pictures to evaluate on
as they are (views_00), then changed a little (views_01 ...), which need no labels to tell how often two models agree.
"""

import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "peers"))
import environments  # noqa: E402
import networks  # noqa: E402
import timing  # noqa: E402
from networks import pictures  # noqa: E402

SIZE = 224
FASHION_SIZE, FASHION_STEPS, FASHION_BATCH = 48, 400, 64


def export(model, size, folder):
    import onnxruntime
    import paddle
    import paddle2onnx

    model.eval()
    paddle.jit.save(model, str(folder / "inference"), input_spec=[paddle.static.InputSpec([None, 3, size, size], "float32", "x")])
    paddle2onnx.export(str(folder / "inference.pdmodel"), str(folder / "inference.pdiparams"), str(folder / "raw.onnx"), opset_version=13,
                       auto_upgrade_opset=True, enable_onnx_checker=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # batch norm folded, no identities
    options.optimized_model_filepath = str(folder / "model.onnx")
    onnxruntime.InferenceSession(str(folder / "raw.onnx"), options, providers=["CPUExecutionProvider"])


def crop(picture, short_side, dx=0, dy=0, flip=False):
    """As EfficientNet-Lite's authors do: bicubic, 224 of 256 pixels of the short side, (pixel - 127) / 128."""
    scale = short_side / min(picture.size)
    width, height = (max(short_side, round(side * scale)) for side in picture.size)
    left, top = (width - SIZE) // 2 + dx, (height - SIZE) // 2 + dy
    part = picture.resize((width, height), Image.BICUBIC).crop((left, top, left + SIZE, top + SIZE))
    pixels = np.asarray(part.transpose(Image.FLIP_LEFT_RIGHT) if flip else part, np.float32)
    return (pixels.transpose(2, 0, 1) - 127) / 128


CORNERS = [(dx, dy) for dx in (-16, 16) for dy in (-16, 16)]
VIEWS = [(256,), (256, 0, 0, True), (320,)] + [(256, dx, dy, flip) for dx, dy in CORNERS for flip in (False, True)]


def efficientnet_lite0(folder, source):
    lines = [line.split() for line in (source / "list.txt").read_text().splitlines() if line.strip()]
    calibrate = [line for i, line in enumerate(lines) if i % 5 < 2]
    evaluate = [line for i, line in enumerate(lines) if i % 5 >= 2]

    def load(chosen):
        return [Image.open(source / name).convert("RGB") for name, _ in chosen]

    np.save(folder / "calibrate.npy", np.stack([crop(picture, 256) for picture in load(calibrate)]))
    np.save(folder / "truth.npy", np.array([int(label) for _, label in evaluate]))
    opened = load(evaluate)
    for i, view in enumerate(VIEWS):
        np.save(folder / f"views_{i:02}.npy", np.stack([crop(picture, *view) for picture in opened]))
    export(networks.efficientnet_lite0(), SIZE, folder)


def fashion_folder():
    """Where Debian's package has it; the package is unpacked beside the other models when it is not installed."""
    place = "usr/share/datasets/fashion-mnist"
    unpacked = environments.CACHE / "fashion-mnist"
    for root in (pathlib.Path("/"), unpacked):
        if (root / place).exists():
            return root / place
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["apt-get", "download", "dataset-fashion-mnist"], cwd=scratch, check=True, capture_output=True)
        subprocess.run(["dpkg-deb", "-x", next(pathlib.Path(scratch).glob("*.deb")), unpacked], check=True)
    return unpacked / place


def fashion_part(part):
    """Pictures as bytes (N, 28, 28) and their labels."""
    images, labels = (gzip.decompress((fashion_folder() / f"{part}-{kind}-ubyte.gz").read_bytes()) for kind in ("images-idx3", "labels-idx1"))
    return np.frombuffer(images, np.uint8, offset=16).reshape(-1, 28, 28), np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)


def fashion_input(images):
    size = (FASHION_SIZE, FASHION_SIZE)
    grey = np.stack([np.asarray(Image.fromarray(image).resize(size, Image.BILINEAR), np.float32) for image in images])
    return np.ascontiguousarray(np.repeat(grey[:, None] / 255, 3, 1) - 0.5) / np.float32(0.5)


def trained_by_octet(network):
    """500 steps of the quickstart's recipe. Evaluated on 2,000 of the test pictures, which is enough to tell methods of quantization apart."""
    side, mean, deviation = 32, 0.286, 0.353  # as in the recipe

    def prepared(images):
        grey = np.stack([np.asarray(Image.fromarray(image).resize((side, side), Image.BILINEAR), np.float32) for image in images])
        return np.ascontiguousarray(np.repeat((grey[:, None] / 255 - mean) / deviation, 3, 1), np.float32)

    def make(folder):
        octet, recipe = ROOT / "build" / "release" / "octet", ROOT / "configs" / "fashion_mnist" / "quickstart.yaml"
        subprocess.run([octet, "train", "--config", recipe, "--data-path", fashion_folder(), "--model", network, "--batch-size", "64", "--iters", "500", "--lr", "0.05",
                        "--output-dir", folder / "run"], check=True)
        subprocess.run([octet, "export", "--model", network, "--pretrained", folder / "run", "--img-size", str(side), "--save-inference-dir", folder], check=True)
        (images, _), (tests, labels) = fashion_part("train"), fashion_part("t10k")
        np.save(folder / "calibrate.npy", prepared(images[:100]))
        np.save(folder / "truth.npy", labels[:2000])
        np.save(folder / "views_00.npy", prepared(tests[:2000]))

    return make


fashion_mobilenet_v3_small, fashion_mobilenet_v2, fashion_resnet18 = map(trained_by_octet, ("mobilenet_v3_small", "mobilenet_v2", "resnet18"))


def fashion(folder):
    import paddle

    paddle.seed(7)
    rng = np.random.default_rng(3)
    images, labels = fashion_part("train")
    model = paddle.vision.models.mobilenet_v3_small(num_classes=10)
    rate = paddle.optimizer.lr.CosineAnnealingDecay(2e-3, FASHION_STEPS)
    optimizer = paddle.optimizer.AdamW(rate, parameters=model.parameters(), weight_decay=0.02)
    model.train()
    for step in range(FASHION_STEPS):
        chosen = rng.integers(0, len(images), FASHION_BATCH)
        x = fashion_input([image[:, ::-1] if rng.integers(0, 2) else image for image in images[chosen]])
        loss = paddle.nn.functional.cross_entropy(model(paddle.to_tensor(x)), paddle.to_tensor(labels[chosen]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
        if step % 50 == 0:
            print(step, float(loss), flush=True)
    networks.take_norm_statistics(model, fashion_input(images[-1000:]))  # the running ones lag behind so few steps
    tests, test_labels = fashion_part("t10k")
    np.save(folder / "calibrate.npy", fashion_input(images[:100]))
    np.save(folder / "truth.npy", test_labels)
    np.save(folder / "views_00.npy", fashion_input(tests))
    export(model, FASHION_SIZE, folder)


def mobilenet_v3_small(folder):
    import paddle

    paddle.seed(7)
    model = paddle.vision.models.mobilenet_v3_small()
    networks.take_norm_statistics(model, pictures.photos(4, SIZE, SIZE, seed=1)[0])
    export(model, SIZE, folder)
    for i, photo in enumerate(pictures.photos(timing.PICTURES, SIZE, SIZE, seed=5)[0]):
        pixels = np.clip((photo * pictures.STD + pictures.MEAN) * 255, 0, 255).astype(np.uint8)
        Image.fromarray(pixels.transpose(1, 2, 0)).save(folder / f"{i}.jpg", quality=92)


if __name__ == "__main__":
    os.environ["FLAGS_enable_pir_api"] = "0"
    globals()[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))
