"""For tests that ask Paddle and write files: a Paddle for the class, an empty folder for each test."""
import os
import tempfile
import unittest

import paddle_side


class WithPaddle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.paddle = paddle_side.Paddle()
        cls.addClassCleanup(cls.paddle.close)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)
