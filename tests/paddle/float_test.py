#!/usr/bin/env python3
"""Float models and single ops give Paddle's outputs, at several input sizes and batch sizes."""

import numpy as np

import cases
import collection
import float_models
import octet_side
import op_models

TOLERANCE = 1e-4  # of the largest output


class FloatTest(collection.PaddleTestCase):
    def check_model(self, folder):
        feeds = cases.feeds(folder)
        outputs = self.paddle.program(folder).fetches
        found = [octet_side.run(folder, feed, outputs) for feed in feeds]
        for ir_optim in (False, True) if folder.name in float_models.MODELS else (False,):
            for feed, result, expected in zip(feeds, found, self.paddle.run(folder, feeds, ir_optim)):
                for name, reference in zip(outputs, expected.values()):
                    with self.subTest(output=name, inputs={n: v.shape for n, v in feed.items()}, ir_optim=ir_optim):
                        self.compare(result[name], reference)

    def compare(self, found, reference):
        self.assertEqual(found.shape, reference.shape)
        self.assertEqual(found.dtype, reference.dtype)
        if reference.dtype != np.float32:
            np.testing.assert_array_equal(found, reference)
            return
        self.assertTrue(np.isfinite(reference).all(), "Paddle's own output is not finite")
        largest = np.abs(reference).max(initial=0)
        difference = np.abs(found - reference).max(initial=0)
        self.assertLessEqual(difference, TOLERANCE * largest)


collection.add_tests(FloatTest, "check_model", [name for name in float_models.MODELS | op_models.MODELS if name != "op_quantize"])

if __name__ == "__main__":
    collection.main()
