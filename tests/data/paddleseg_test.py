"""PaddleSeg's transforms against what PaddleSeg calls: OpenCV on pictures of 32-bit floats, and Pillow.

What gives 8 bits is compared exactly, resizing and rotating in floats within 0.01. Drives image_tool
(tests/tools/image_tool.cc), whose path is in OCTET_IMAGE_TOOL.
"""

import json
import random
import unittest

import cv2
import numpy as np
from PIL import Image

from pillow_test import PHOTOS, PictureTest, noise

INTERPOLATIONS = {"NEAREST": cv2.INTER_NEAREST, "LINEAR": cv2.INTER_LINEAR, "CUBIC": cv2.INTER_CUBIC,
                  "AREA": cv2.INTER_AREA, "LANCZOS4": cv2.INTER_LANCZOS4}


def transforms(*items):
    return json.dumps([*items, {"type": "Normalize"}], separators=(",", ":"))


class PaddleSegTest(PictureTest):
    def setUp(self):
        self.rng = np.random.default_rng(19)
        self.random = random.Random(19)

    def pictures(self):
        for width, height in ((1, 1), (7, 5), (64, 48), (33, 97)):
            yield noise(self.rng, width, height)
        for photo in PHOTOS[:4]:
            yield np.asarray(Image.open(photo).convert("RGB").resize((160, 120)))

    def assert_close(self, expected, actual, what):
        self.assertEqual(expected.shape, actual.shape, what)
        if expected.size:
            self.assertLess(np.abs(expected.astype(np.float64) - actual).max(), 0.01, what)

    def test_resize(self):
        for pixels in self.pictures():
            path = self.tool.save(pixels)
            for name, code in INTERPOLATIONS.items():
                for size in ((64, 48), (31, 20), (200, 133), (5, 111), (80, 60)):
                    what = f"{name} {pixels.shape} -> {size}"
                    request = transforms({"type": "Resize", "target_size": size, "interp": name})
                    expected = cv2.resize(pixels.astype(np.float32), size, interpolation=code)
                    self.assert_close(expected, self.tool.ask("transform", path, request), what)
                    mask = cv2.resize(pixels[:, :, 0], size, interpolation=cv2.INTER_NEAREST)
                    self.assert_same(mask, self.tool.ask("transform_mask", path, request), what)

    def test_sizes(self):
        def ask(pixels, **item):
            return self.tool.ask("transform", self.tool.save(pixels), transforms(item)).shape[1::-1]

        for _ in range(40):
            w, h = self.random.randint(8, 300), self.random.randint(8, 300)
            pixels = np.zeros((h, w, 3), np.uint8)
            n = self.random.randint(16, 400)
            scale = n / max(w, h)
            self.assertEqual(ask(pixels, type="ResizeByLong", long_size=n), (max(round(w * scale), 1), max(round(h * scale), 1)))
            scale = n / min(w, h)
            self.assertEqual(ask(pixels, type="ResizeByShort", short_size=n), (round(w * scale), round(h * scale)))
            target = (self.random.randint(16, 200), self.random.randint(16, 200))
            scale = min(max(target) / max(w, h), min(target) / min(w, h))
            size = [max(round(w * scale), 1), max(round(h * scale), 1)]
            self.assertEqual(ask(pixels, type="Resize", target_size=target, keep_ratio=True), tuple(size))
            self.assertEqual(ask(pixels, type="Resize", target_size=target, keep_ratio=True, size_divisor=32),
                             tuple(-(-side // 32) * 32 for side in size))
            factor = self.random.choice((0.5, 0.75, 1.25, 2.0))
            self.assertEqual(ask(pixels, type="ResizeStepScaling", min_scale_factor=factor, max_scale_factor=factor),
                             (round(w * factor), round(h * factor)))

    def test_padding(self):
        for pixels in self.pictures():
            h, w = pixels.shape[:2]
            path = self.tool.save(pixels)
            for request, to in (({"type": "Padding", "target_size": (w + 9, h + 3)}, (w + 9, h + 3)),
                                ({"type": "RandomPaddingCrop", "crop_size": (w + 4, h)}, (w + 4, h)),
                                ({"type": "PaddingByAspectRatio", "aspect_ratio": 2},
                                 (int(h * 2), h) if w / h < 2 else (w, int(w / 2)))):
                border = (0, to[1] - h, 0, to[0] - w, cv2.BORDER_CONSTANT)
                expected = cv2.copyMakeBorder(pixels.astype(np.float32), *border, value=(127.5,) * 3)
                self.assert_same(expected, self.tool.ask("transform", path, transforms(request)), request)
                mask = cv2.copyMakeBorder(pixels[:, :, 0], *border, value=255)
                self.assert_same(mask, self.tool.ask("transform_mask", path, transforms(request)), request)

    def test_flips(self):
        for pixels in self.pictures():
            path = self.tool.save(pixels)
            for kind, axis in (("RandomHorizontalFlip", 1), ("RandomVerticalFlip", 0)):
                request = transforms({"type": kind, "prob": 1})
                self.assert_same(np.flip(pixels, axis).astype(np.float32), self.tool.ask("transform", path, request), kind)
                self.assert_same(np.flip(pixels[:, :, 0], axis), self.tool.ask("transform_mask", path, request), kind)

    def test_blur(self):
        for pixels in self.pictures():
            path = self.tool.save(pixels)
            for size in (3, 5, 7, 9):
                what = f"{pixels.shape} {size}"
                self.assert_same(cv2.GaussianBlur(pixels, (size, size), 0, 0),
                                 self.tool.ask("blur", path, "gaussian", size), what)
                self.assert_same(cv2.medianBlur(pixels, size), self.tool.ask("blur", path, "median", size), what)
                self.assert_same(cv2.blur(pixels, (size, size)), self.tool.ask("blur", path, "blur", size), what)

    def test_hue(self):
        for pixels in self.pictures():
            path = self.tool.save(pixels)
            for _ in range(6):
                delta = self.random.uniform(-18, 18)
                hsv = np.array(Image.fromarray(pixels).convert("HSV"))
                hsv[:, :, 0] = (hsv[:, :, 0] + delta).astype(np.int64).astype(np.uint8)
                expected = np.asarray(Image.merge("HSV", [Image.fromarray(hsv[:, :, i]) for i in range(3)]).convert("RGB"))
                self.assert_same(expected, self.tool.ask("hue", path, repr(delta)), delta)

    def test_rotation(self):
        for pixels in self.pictures():
            (h, w), path = pixels.shape[:2], self.tool.save(pixels)
            if w < 5:
                continue
            for _ in range(6):
                degrees = self.random.uniform(-60, 60)
                r = cv2.getRotationMatrix2D((w // 2, h // 2), degrees, 1.0)
                cos, sin = abs(r[0, 0]), abs(r[0, 1])
                size = int(h * sin + w * cos), int(h * cos + w * sin)
                r[0, 2] += size[0] / 2 - w // 2
                r[1, 2] += size[1] / 2 - h // 2
                expected = cv2.warpAffine(pixels.astype(np.float32), r, dsize=size, flags=cv2.INTER_LINEAR,
                                          borderMode=cv2.BORDER_CONSTANT, borderValue=(127.5,) * 3)
                self.assert_close(expected, self.tool.ask("rotate", path, repr(degrees)), degrees)
                mask = cv2.warpAffine(pixels[:, :, 0], r, dsize=size, flags=cv2.INTER_NEAREST,
                                      borderMode=cv2.BORDER_CONSTANT, borderValue=255)
                self.assert_same(mask, self.tool.ask("rotate_mask", path, repr(degrees)), degrees)

    def test_distortion_after_resizing_cuts_fractions_off(self):
        for pixels in self.pictures():
            path = self.tool.save(pixels)
            request = transforms({"type": "Resize", "target_size": (50, 40)},
                                 {"type": "RandomDistort", "brightness_prob": 0, "contrast_prob": 0,
                                  "saturation_prob": 0, "hue_prob": 0})
            expected = cv2.resize(pixels.astype(np.float32), (50, 40))
            actual = self.tool.ask("transform", path, request)
            near_a_whole_number = np.abs(expected - np.round(expected)) < 0.01
            self.assert_same(np.where(near_a_whole_number, actual, np.trunc(expected)).astype(np.float32), actual, "")


if __name__ == "__main__":
    unittest.main()
