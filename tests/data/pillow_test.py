"""Pixels against the originals: Pillow, OpenCV and paddle.vision.transforms.

Drives image_tool (tests/tools/image_tool.cc), whose path is in OCTET_IMAGE_TOOL. Every comparison is exact.
"""

import importlib.util
import io
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest
import zlib

import cv2
import numpy as np
import PIL
from PIL import Image

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
PHOTOS = [pathlib.Path(importlib.util.find_spec("skimage").origin).parent / "data" / name
          for name in ("rocket.jpg", "retina.jpg", "hubble_deep_field.jpg", "chelsea.png", "coffee.png", "camera.png",
                       "astronaut.png", "motorcycle_left.png", "logo.png", "horse.png")]


def pillow_resize(picture, size, method):
    if method != Image.Resampling.NEAREST and int(PIL.__version__.split(".")[0]) >= 13:
        # Pillow 13 may do the passes in the other order; octet keeps that of the versions before.
        picture = picture.resize((size[0], picture.height), method)
    return np.asarray(picture.resize(size, method))


class Tool:
    """The program, answering one request after the other."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.process = subprocess.Popen([os.environ["OCTET_IMAGE_TOOL"]], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def ask(self, *words):
        out = self.folder / "out.npy"
        self.process.stdin.write(" ".join(map(str, (*words, out))) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "ok":
            raise ValueError(answer)
        return np.load(out)

    def save(self, pixels):
        """A PNG file of the pixels, for requests that are not about decoding."""
        path = self.folder / "in.png"
        Image.fromarray(pixels).save(path, compress_level=1)
        return path


class PictureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        memory = "/dev/shm"  # thousands of small files that nobody needs on a disk
        cls.folder = tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)
        cls.tool = Tool(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.tool.close()
        cls.folder.cleanup()

    def assert_same(self, expected, actual, what):
        self.assertEqual(expected.shape, actual.shape, what)
        self.assertEqual(expected.dtype, actual.dtype, what)
        wrong = np.argwhere(expected != actual)
        if len(wrong):
            at = tuple(wrong[0])
            self.fail(f"{what}: {len(wrong)} of {expected.size} differ, first at {at}: {expected[at]} != {actual[at]}")


def noise(rng, width, height):
    return rng.integers(0, 256, (height, width, 3), dtype=np.uint8)


def gradient(width, height):
    x = np.linspace(0, 255, width)[None, :, None]
    y = np.linspace(255, 0, height)[:, None, None]
    return (np.concatenate([x + 0 * y, y + 0 * x, (x + y) / 2], axis=2)).astype(np.uint8)


def png(width, height, depth, color, rows, chunks=b""):
    """A PNG file by hand, for the kinds that Pillow does not write."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*c) for c in chunks)
            + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


class DecodeTest(PictureTest):
    def check(self, data, what):
        path = self.tool.folder / "picture"
        path.write_bytes(data)
        expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
        self.assert_same(expected, self.tool.ask("decode", path), what)

    def test_photos(self):
        for photo in PHOTOS:
            self.check(photo.read_bytes(), photo.name)

    def test_jpeg_kinds(self):
        rng = np.random.default_rng(1)
        for width, height in ((1, 1), (7, 9), (16, 16), (33, 18), (130, 97)):
            smooth = np.asarray(Image.fromarray(noise(rng, 9, 7)).resize((width, height), Image.Resampling.BICUBIC))
            for pixels in (noise(rng, width, height), smooth):
                for quality in (30, 75, 95, 100):
                    for subsampling in (0, 1, 2):
                        for progressive in (False, True):
                            out = io.BytesIO()
                            Image.fromarray(pixels).save(out, "JPEG", quality=quality, subsampling=subsampling,
                                                         progressive=progressive)
                            self.check(out.getvalue(), f"{width}x{height} quality {quality} subsampling {subsampling} "
                                                       f"progressive {progressive}")
                for mode in ("L", "CMYK"):
                    out = io.BytesIO()
                    Image.fromarray(pixels).convert(mode).save(out, "JPEG", quality=90)
                    self.check(out.getvalue(), f"{width}x{height} {mode}")

    def test_jpeg_sampling_1x2(self):
        # 4:4:0, which OpenCV writes and Pillow does not.
        rng = np.random.default_rng(2)
        for factor in (cv2.IMWRITE_JPEG_SAMPLING_FACTOR_440, cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411):
            pixels = cv2.resize(noise(rng, 9, 7), (61, 43), interpolation=cv2.INTER_CUBIC)
            ok, data = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, factor])
            self.assertTrue(ok)
            self.check(data.tobytes(), f"sampling {factor:#x}")

    def test_jpeg_cmyk_colors(self):
        # YCCK and CMYK with every ink, since the conversion to RGB is octet's own.
        rng = np.random.default_rng(3)
        inks = rng.integers(0, 256, (32, 32, 4), dtype=np.uint8)
        out = io.BytesIO()
        Image.frombytes("CMYK", (32, 32), inks.tobytes()).save(out, "JPEG", quality=100)
        self.check(out.getvalue(), "CMYK")

    def test_exif_orientation_is_not_applied(self):
        exif = Image.Exif()
        exif[0x0112] = 6
        out = io.BytesIO()
        Image.fromarray(gradient(20, 10)).save(out, "JPEG", exif=exif)
        self.check(out.getvalue(), "EXIF orientation")

    def test_webp_kinds(self):
        rng = np.random.default_rng(7)
        for width, height in ((1, 1), (7, 9), (16, 16), (33, 18), (130, 97)):
            smooth = np.asarray(Image.fromarray(noise(rng, 9, 7)).resize((width, height), Image.Resampling.BICUBIC))
            alpha = rng.integers(0, 2, (height, width, 1), dtype=np.uint8) * 255
            for pixels in (noise(rng, width, height), smooth):
                for mode in ("RGB", "RGBA"):
                    picture = Image.fromarray(pixels if mode == "RGB" else np.concatenate([pixels, alpha], axis=2))
                    for options in ({"quality": 10}, {"quality": 80}, {"quality": 100}, {"lossless": True},
                                    {"lossless": True, "exact": True}):
                        out = io.BytesIO()
                        picture.save(out, "WEBP", **options)
                        self.check(out.getvalue(), f"{width}x{height} {mode} {options}")

    def test_webp_photos(self):
        for photo in PHOTOS:
            for quality in (20, 90):
                out = io.BytesIO()
                Image.open(photo).convert("RGB").save(out, "WEBP", quality=quality)
                self.check(out.getvalue(), f"{photo.name} quality {quality}")

    def test_webp_animation(self):
        # The first frame, also where it is smaller than the picture.
        rng = np.random.default_rng(8)
        frames = [Image.fromarray(noise(rng, 31, 17)) for _ in range(3)]
        small = Image.new("RGBA", (31, 17))
        small.paste(frames[0].crop((0, 0, 9, 7)), (12, 6))
        for first in (frames[0], small):
            for options in ({"quality": 80}, {"lossless": True}, {"lossless": True, "minimize_size": True}):
                out = io.BytesIO()
                first.save(out, "WEBP", save_all=True, append_images=frames[1:], **options)
                self.check(out.getvalue(), f"animation {first.mode} {options}")

    def test_bmp_kinds(self):
        rng = np.random.default_rng(9)
        for width, height in ((1, 1), (5, 3), (31, 17), (64, 9)):
            picture = Image.fromarray(noise(rng, width, height))
            for mode in ("1", "L", "P", "RGB", "RGBA"):
                out = io.BytesIO()
                picture.convert(mode).save(out, "BMP")
                self.check(out.getvalue(), f"{width}x{height} {mode}")

    def test_bmp_by_hand(self):
        rng = np.random.default_rng(11)

        def bmp(width, height, bits, header=40, compression=0, masks=(), colors=0):
            before = b"".join(struct.pack("<I", mask) for mask in masks) if header == 40 else b""
            palette = rng.bytes(colors * (3 if header == 12 else 4))
            rows = rng.bytes((width * bits + 31) // 32 * 4 * abs(height))
            if header == 12:
                fields = struct.pack("<IHHHH", 12, width, height, 1, bits)
            else:
                fields = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, 0, 0, 0, colors, 0)
                if header > 40:
                    fields += b"".join(struct.pack("<I", mask) for mask in masks)
                    fields += bytes(header - len(fields))
            begin = 14 + len(fields) + len(before) + len(palette)
            return b"BM" + struct.pack("<III", begin + len(rows), 0, begin) + fields + before + palette + rows

        for width, height in ((1, 1), (5, 3), (6, -4), (31, -17)):
            for bits in (1, 4, 8, 16, 24, 32):
                for colors in ([1 << bits, (1 << bits) - 1 or 1] if bits <= 8 else [0]):
                    self.check(bmp(width, height, bits, colors=colors), f"{width}x{height} {bits} bits {colors} colors")
                if bits in (1, 4, 8, 24) and height > 0:
                    self.check(bmp(width, height, bits, header=12, colors=1 << bits if bits <= 8 else 0),
                               f"{width}x{height} {bits} bits, OS/2")
            for bits, masks in ((16, (0xF800, 0x7E0, 0x1F)), (16, (0x7C00, 0x3E0, 0x1F)), (24, (0xFF0000, 0xFF00, 0xFF)),
                                (32, (0xFF0000, 0xFF00, 0xFF)), (32, (0xFF000000, 0xFF0000, 0xFF00)),
                                (32, (0xFF000000, 0xFF00, 0xFF)), (32, (0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
                                (32, (0xFF0000, 0xFF00, 0xFF, 0xFF000000))):
                for header in (40, 56, 108, 124) if len(masks) == 3 else (56, 108, 124):
                    self.check(bmp(width, height, bits, header=header, compression=3, masks=masks),
                               f"{width}x{height} {bits} bits, masks {masks}, header {header}")

    def test_png_modes(self):
        rng = np.random.default_rng(4)
        for width, height in ((1, 1), (5, 3), (31, 17)):
            picture = Image.fromarray(noise(rng, width, height))
            for mode in ("1", "L", "LA", "P", "RGB", "RGBA"):
                out = io.BytesIO()
                picture.convert(mode).save(out, "PNG")
                self.check(out.getvalue(), f"{width}x{height} {mode}")

    def test_png_by_hand(self):
        rng = np.random.default_rng(5)
        channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
        palette = [(b"PLTE", rng.bytes(3 * 200))]
        for color, depths in ((0, (1, 2, 4, 8, 16)), (2, (8, 16)), (3, (1, 2, 4, 8)), (4, (8, 16)), (6, (8, 16))):
            for depth in depths:
                for width in (1, 3, 8, 29):
                    size = (width * depth * channels[color] + 7) // 8
                    rows = [rng.bytes(size) for _ in range(6)]
                    # 16-bit gray is clipped, so most random values would be white.
                    if (color, depth) == (0, 16):
                        rows = [np.where(np.arange(size) % 2 == 0, np.frombuffer(row, np.uint8) & 1,
                                         np.frombuffer(row, np.uint8)).astype(np.uint8).tobytes() for row in rows]
                    chunks = palette if color == 3 else []
                    self.check(png(width, 6, depth, color, rows, chunks), f"color {color} depth {depth} width {width}")
        self.check(png(2, 1, 8, 2, [bytes([1, 2, 3, 4, 5, 6])], [(b"tRNS", b"\0\1\0\2\0\3")]), "RGB with tRNS")
        self.check(png(2, 1, 8, 3, [bytes([0, 1])], [(b"PLTE", bytes(range(6))), (b"tRNS", b"\0")]), "palette with tRNS")
        self.check(png(2, 1, 8, 2, [bytes(range(6))], [(b"gAMA", struct.pack(">I", 100000))]), "gamma")

    def test_png_interlaced(self):
        # OpenCV and Pillow write no interlaced files, so this is Adam7 by hand.
        rng = np.random.default_rng(6)
        passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
        for width, height in ((1, 1), (3, 5), (16, 16), (37, 23)):
            for color, channels in ((0, 1), (2, 3), (6, 4)):
                pixels = rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
                raw = b""
                for left, top, dx, dy in passes:
                    part = pixels[top::dy, left::dx]
                    if part.size:
                        raw += b"".join(b"\0" + row.tobytes() for row in part)
                data = png(width, height, 8, color, [])
                header = data[16:28] + b"\1"
                data = data[:16] + header + struct.pack(">I", zlib.crc32(b"IHDR" + header))
                packed = zlib.compress(raw)
                data += struct.pack(">I", len(packed)) + b"IDAT" + packed + struct.pack(">I", zlib.crc32(b"IDAT" + packed))
                data += struct.pack(">I", 0) + b"IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
                self.check(data, f"interlaced {width}x{height} color {color}")


class ResizeTest(PictureTest):
    def check(self, pixels, width, height, what=""):
        path = self.tool.save(pixels)
        picture = Image.fromarray(pixels)
        for name, method in FILTERS.items():
            expected = pillow_resize(picture, (width, height), method)
            self.assert_same(expected, self.tool.ask("resize", path, width, height, name),
                             f"{what} {picture.size} to {width}x{height} {name}")
        expected = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_LINEAR)
        self.assert_same(expected, self.tool.ask("resize", path, width, height, "opencv"),
                         f"{what} {picture.size} to {width}x{height} opencv")

    def test_small_sizes(self):
        rng = np.random.default_rng(7)
        for size in (1, 2, 3, 5, 8):
            for other in (1, 2, 3, 4, 7):
                for width in (1, 2, 3, 6, 17):
                    self.check(noise(rng, size, other), width, 9 - size)

    def test_random_sizes(self):
        rng = np.random.default_rng(8)
        sizes = random.Random(8)
        for _ in range(40):
            width, height, to_width, to_height = (sizes.randint(1, 300) for _ in range(4))
            self.check(noise(rng, width, height), to_width, to_height, "noise")
            self.check(gradient(width, height), to_width, to_height, "gradient")

    def test_extremes(self):
        rng = np.random.default_rng(9)
        black_and_white = lambda w, h: (noise(rng, w, h) & 1) * np.uint8(255)
        for size, to in (((2000, 1), (3, 1)), ((1, 2000), (1, 3)), ((1, 1), (400, 300)), ((3, 2), (2000, 1)),
                         ((1500, 1400), (1, 1)), ((640, 480), (320, 240)), ((641, 481), (320, 240)),
                         ((640, 480), (320, 481)), ((512, 512), (512, 256)), ((512, 512), (256, 512)),
                         ((100, 100), (100, 100)), ((400, 400), (100, 100)), ((300, 300), (100, 100))):
            self.check(black_and_white(*size), *to, "extreme")

    def test_photos(self):
        for photo in PHOTOS:
            pixels = np.asarray(Image.open(photo).convert("RGB"))
            for to in ((256, 256), (341, 256), (97, 640)):
                self.check(pixels, *to, photo.name)


class PreprocessTest(PictureTest):
    MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]

    def check(self, path, resize, crop, interpolation, what):
        # Imported here, so that the other tests run without waiting for Paddle.
        from paddle.vision import transforms

        steps = [transforms.ToTensor(), transforms.Normalize(self.MEAN, self.STD)]
        if crop:
            steps.insert(0, transforms.CenterCrop(crop))
        if resize:
            steps.insert(0, transforms.Resize(resize, interpolation))
        expected = transforms.Compose(steps)(Image.open(path).convert("RGB")).numpy()[None]
        actual = self.tool.ask("preprocess", path, resize, crop, interpolation)
        self.assert_same(expected, actual, f"{what} resize {resize} crop {crop} {interpolation}")

    def test_photos(self):
        for photo in PHOTOS:
            for interpolation in FILTERS:
                self.check(photo, 256, 224, interpolation, photo.name)
            self.check(photo, 73, 64, "bilinear", photo.name)

    def test_offsets_and_borders(self):
        # Odd differences round half to even; a crop larger than the picture gets a black border.
        rng = np.random.default_rng(10)
        for width, height in ((40, 30), (31, 47), (64, 64), (257, 19)):
            path = self.tool.save(noise(rng, width, height))
            for resize in (0, 24, 33):
                for crop in (0, 1, 22, 23, 24, 35, 70, 71):
                    self.check(path, resize, crop, "bilinear", f"{width}x{height}")


if __name__ == "__main__":
    unittest.main()
