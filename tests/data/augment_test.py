"""What augmentation does to pixels against Pillow, called as torchvision calls it. Every comparison is exact.

Drives image_tool (tests/tools/image_tool.cc), whose path is in OCTET_IMAGE_TOOL.
"""

import random
import unittest

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from pillow_test import FILTERS, PHOTOS, PictureTest, gradient, noise, pillow_resize


def affine(*matrix):
    return lambda picture: picture.transform(picture.size, Image.Transform.AFFINE, matrix, Image.Resampling.NEAREST)


def hue(amount):
    def shift(picture):
        h, s, v = picture.convert("HSV").split()
        h = Image.fromarray(np.asarray(h) + np.uint8(int(amount * 255) & 255))
        return Image.merge("HSV", (h, s, v)).convert("RGB")

    return shift


def enhance(kind):
    return lambda amount: lambda picture: kind(picture).enhance(1.0 + amount)


OPERATIONS = {
    "ShearX": lambda amount: affine(1, amount, 0, 0, 1, 0),
    "ShearY": lambda amount: affine(1, 0, 0, amount, 1, 0),
    "TranslateX": lambda amount: affine(1, 0, -int(amount), 0, 1, 0),
    "TranslateY": lambda amount: affine(1, 0, 0, 0, 1, -int(amount)),
    "Rotate": lambda amount: lambda picture: picture.rotate(amount, Image.Resampling.NEAREST),
    "Brightness": enhance(ImageEnhance.Brightness),
    "Color": enhance(ImageEnhance.Color),
    "Contrast": enhance(ImageEnhance.Contrast),
    "Sharpness": enhance(ImageEnhance.Sharpness),
    "Hue": hue,
    "Posterize": lambda amount: lambda picture: ImageOps.posterize(picture, int(amount)),
    "Solarize": lambda amount: lambda picture: ImageOps.solarize(picture, amount),
    "AutoContrast": lambda amount: ImageOps.autocontrast,
    "Equalize": lambda amount: ImageOps.equalize,
    "Invert": lambda amount: ImageOps.invert,
}
AMOUNTS = {
    "ShearX": np.linspace(-0.3, 0.3, 13),
    "ShearY": np.linspace(-0.3, 0.3, 13),
    "TranslateX": (-101.5, -20.25, -0.5, 0, 1, 11.28, 33.8),
    "TranslateY": (-101.5, -20.25, -0.5, 0, 1, 11.28, 33.8),
    "Rotate": [sign * level * 30 / 9 for level in range(1, 10) for sign in (1, -1)] + [0, 17.3],
    "Brightness": np.linspace(-1, 1.5, 26),
    "Color": np.linspace(-1, 1.5, 26),
    "Contrast": np.linspace(-1, 1.5, 26),
    "Sharpness": np.linspace(-1, 1.5, 26),
    "Hue": np.linspace(-0.5, 0.5, 21),
    "Posterize": range(4, 9),
    "Solarize": np.linspace(255, 0, 10),
}


def pictures():
    rng = np.random.default_rng(20)
    for width, height in ((1, 1), (2, 5), (3, 3), (31, 17), (64, 64), (224, 224)):
        yield noise(rng, width, height), f"noise {width}x{height}"
        yield gradient(width, height), f"gradient {width}x{height}"
    yield noise(rng, 40, 30) // 4 + 90, "faint"
    yield (noise(rng, 40, 30) & 1) * np.uint8(255), "black and white"
    yield np.full((9, 9, 3), 77, np.uint8), "one colour"
    for photo in PHOTOS[:4]:
        yield np.asarray(Image.open(photo).convert("RGB").resize((224, 224))), photo.name


class OperationTest(PictureTest):
    def test_operations(self):
        for pixels, what in pictures():
            path = self.tool.save(pixels)
            for name, make in OPERATIONS.items():
                for amount in AMOUNTS.get(name, (0,)):
                    amount = float(amount)
                    expected = np.asarray(make(amount)(Image.fromarray(pixels)))
                    self.assert_same(expected, self.tool.ask("apply", path, name, amount), f"{what} {name} {amount}")


class PartTest(PictureTest):
    def test_a_part_is_cropped_then_scaled(self):
        rng = np.random.default_rng(21)
        numbers = random.Random(21)
        for _ in range(30):
            width, height = numbers.randint(1, 300), numbers.randint(1, 300)
            pixels = noise(rng, width, height)
            path = self.tool.save(pixels)
            w, h = numbers.randint(1, width), numbers.randint(1, height)
            left, top, size = numbers.randint(0, width - w), numbers.randint(0, height - h), numbers.randint(1, 100)
            part = Image.fromarray(pixels).crop((left, top, left + w, top + h))
            for name, method in FILTERS.items():
                self.assert_same(pillow_resize(part, (size, size), method),
                                 self.tool.ask("part", path, left, top, w, h, size, name),
                                 f"{width}x{height} {left},{top} {w}x{h} to {size} {name}")


if __name__ == "__main__":
    unittest.main()
