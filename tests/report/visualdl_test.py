"""octet's logs, read by VisualDL.

Needs OCTET_VISUALDL_TOOL, the program octet_visualdl_tool.
"""
import io
import os
import subprocess
import tempfile
import time
import unittest

import numpy as np
from PIL import Image

TOOL = os.environ["OCTET_VISUALDL_TOOL"]
HOME = tempfile.TemporaryDirectory()
os.environ["HOME"] = HOME.name  # VisualDL writes its settings there when it is imported
from visualdl import LogReader  # noqa: E402


def write(folder, mode, first):
    return subprocess.run([TOOL, folder, mode, str(first)], check=True, capture_output=True, text=True).stdout.strip()


class VisualDLTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check(self, path, steps):
        reader = LogReader(file_path=path)
        tags = reader.get_tags()
        self.assertEqual(sorted(tags["scalar"]), ["train/loss", "学习率"])
        loss = reader.get_data("scalar", "train/loss")
        self.assertEqual([item.id for item in loss], steps)
        np.testing.assert_array_equal(np.float32([item.value for item in loss]), np.float32([1 / (i + 1) for i in steps]))
        self.assertTrue(all(abs(item.timestamp / 1000 - time.time()) < 600 for item in loss))
        rate = reader.get_data("scalar", "学习率")
        np.testing.assert_array_equal(np.float32([item.value for item in rate]), np.float32([i * 1e9 for i in steps]))
        picture = reader.get_data("image", "pictures")[0]
        pixels = np.asarray(Image.open(io.BytesIO(picture.image.encoded_image_string)))
        np.testing.assert_array_equal(pixels, np.arange(0, 180, 10, np.uint8).reshape(2, 3, 3))

    def test_log(self):
        self.check(write(self.folder, "new", 0), list(range(5)))

    def test_directory(self):
        """As the VisualDL server finds it."""
        path = write(self.folder, "new", 0)
        reader = LogReader(logdir=self.folder)
        self.assertEqual(reader.logs(), {self.folder: os.path.basename(path)})
        self.assertEqual(reader.components(), {"scalar", "image", "meta_data"})

    def test_continued(self):
        first = write(self.folder, "new", 0)
        self.assertEqual(write(self.folder, "continue", 5), first)
        self.check(first, list(range(10)))


if __name__ == "__main__":
    unittest.main()
