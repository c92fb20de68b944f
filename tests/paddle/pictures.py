"""Realistic pictures without a download: crops of the photos inside the scikit-image wheel, and rendered lines of text.

Everything is a pure function of its arguments, so calibration and evaluation see the same pixels on every machine.
"""

import functools
import importlib.util
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

PHOTOS = (
    "astronaut.png", "brick.png", "chelsea.png", "coffee.png", "coins.png", "grass.png", "gravel.png",
    "hubble_deep_field.jpg", "ihc.png", "motorcycle_left.png", "retina.jpg", "rocket.jpg",
)
MEAN = np.array([0.485, 0.456, 0.406], np.float32).reshape(3, 1, 1)
STD = np.array([0.229, 0.224, 0.225], np.float32).reshape(3, 1, 1)
WORDS = "weight tensor scale bridge 2048 Paris invoice total 17.50 north exit platform river window number 42 open closed".split()


@functools.lru_cache(maxsize=None)
def photo(index):
    # find_spec does not import scikit-image, which would take longer than all the crops together.
    folder = pathlib.Path(importlib.util.find_spec("skimage").submodule_search_locations[0]) / "data"
    picture = Image.open(folder / PHOTOS[index]).convert("RGB")
    picture.thumbnail((640, 640), Image.BILINEAR)
    return picture


def photos(count, height, width, seed):
    """`count` normalised crops (N, 3, height, width) and the number of the photo that each was cut from."""
    rng = np.random.default_rng(seed)
    tensors, labels = [], []
    for i in range(count):
        label = i % len(PHOTOS)
        source = photo(label)
        side = int(min(source.size) * rng.uniform(0.5, 1.0))
        left = int(rng.integers(0, source.width - side + 1))
        top = int(rng.integers(0, source.height - side + 1))
        crop = source.crop((left, top, left + side, top + side)).resize((width, height), Image.BILINEAR)
        if rng.integers(0, 2):
            crop = crop.transpose(Image.FLIP_LEFT_RIGHT)
        pixels = np.asarray(crop, np.float32).transpose(2, 0, 1) / 255
        tensors.append((pixels * np.float32(rng.uniform(0.8, 1.0)) - MEAN) / STD)
        labels.append(label)
    return np.ascontiguousarray(np.stack(tensors), np.float32), np.array(labels)


def text_lines(count, height, width, seed):
    """`count` text lines (N, 3, height, width) scaled to [-1, 1] as PP-OCR does; label 1 is upside down."""
    rng = np.random.default_rng(seed)
    tensors, labels = [], []
    for i in range(count):
        paper, ink = rng.integers(170, 256, 3), rng.integers(0, 100, 3)
        font = ImageFont.load_default(size=float(height * rng.uniform(0.5, 0.75)))
        canvas = Image.new("RGB", (width, height), tuple(int(v) for v in paper))
        text = " ".join(rng.choice(WORDS, 4))
        ImageDraw.Draw(canvas).text((width * 0.03, height * rng.uniform(0.05, 0.2)), text, tuple(int(v) for v in ink), font)
        if rng.integers(0, 2):
            canvas = canvas.filter(ImageFilter.GaussianBlur(float(rng.uniform(0, 0.8))))
        label = i % 2
        if label:
            canvas = canvas.transpose(Image.ROTATE_180)
        pixels = np.asarray(canvas, np.float32) + rng.normal(0, 4, (height, width, 1)).astype(np.float32)
        tensors.append(np.clip(pixels, 0, 255).transpose(2, 0, 1) / np.float32(127.5) - 1)
        labels.append(label)
    return np.ascontiguousarray(np.stack(tensors), np.float32), np.array(labels)


def page(height, width, seed):
    """One photographed page of text, normalised, for text detection."""
    rng = np.random.default_rng(seed)
    canvas = Image.new("RGB", (width, height), (238, 232, 220))
    draw = ImageDraw.Draw(canvas)
    y = 8
    while y < height - 20:
        size = float(rng.uniform(14, 28))
        draw.text((10, y), " ".join(rng.choice(WORDS, 6)), (30, 30, 40), ImageFont.load_default(size=size))
        y += int(size * 1.6)
    canvas = Image.blend(canvas, photo(0).resize((width, height)), 0.15).rotate(2, Image.BILINEAR, fillcolor=(238, 232, 220))
    return ((np.asarray(canvas, np.float32).transpose(2, 0, 1) / 255 - MEAN) / STD)[None].astype(np.float32)
