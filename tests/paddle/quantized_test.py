#!/usr/bin/env python3
"""Models quantized by PaddleSlim: the integers of each layer, and the answers on pictures, are Paddle's."""

import numpy as np

import cases
import collection
import octet_side
import quant_models
import quantized_checks


class QuantizedTest(quantized_checks.QuantizedChecks):
    """Its tests are added below: each check of each model."""


for model in quant_models.MODELS:
    for method in ("quantizers", "layers", "pictures", "exactness"):
        setattr(QuantizedTest, f"test_{method}_{model}",
                lambda self, folder=collection.FOLDER / model, method=method: getattr(self, f"check_{method}")(folder))


class QuantOpTest(collection.PaddleTestCase):
    def test_each_op(self):
        """Every quantization op of both generations by itself: equal to the bit, for integers, or to a float's last places."""
        folder = collection.FOLDER / "op_quantize"
        feeds = cases.feeds(folder)
        for feed, expected in zip(feeds, self.paddle.run(folder, feeds)):
            found = octet_side.run(folder, feed, list(expected))
            for name, reference in expected.items():
                with self.subTest(output=name):
                    self.assertEqual(found[name].shape, reference.shape)
                    if np.array_equal(reference, np.rint(reference)):
                        np.testing.assert_array_equal(found[name], reference)
                    else:
                        np.testing.assert_allclose(found[name], reference, rtol=3e-7, atol=1e-9)


if __name__ == "__main__":
    collection.main()
