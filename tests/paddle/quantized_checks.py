"""What must hold for a quantized model in octet and in Paddle: the same integers in each layer, the same answers to pictures."""

import numpy as np

import cases
import collection
import layers
import octet_side

PICTURES = 100
FLIPS = 0.001  # share of integers that may be off by one: float summation order decides which way a tie falls


class QuantizedChecks(collection.PaddleTestCase):
    def check_quantizers(self, folder):
        """Each quantizer alone, fed Paddle's float tensor: the same arithmetic gives the same integers, all of them."""
        self.check_groups(folder, lambda program: [layers.quantizers(program)], flips=0)

    def check_layers(self, folder):
        self.check_groups(folder, lambda program: layers.group(layers.layers(program)), FLIPS)

    def check_groups(self, folder, split, flips):
        program = self.paddle.program(folder)
        feed = cases.feeds(folder)[0]
        groups = split(program)
        names = sorted({name for group in groups for layer in group for name in (*layer.inputs, layer.output)} - set(feed))
        tensors = self.paddle.tensors(folder, feed, names) | feed
        integers = different = lively = 0
        for group in groups:
            inputs = {name: tensors[name] for layer in group for name in layer.inputs}
            found = octet_side.run(folder, inputs, [layer.output for layer in group])
            for layer in group:
                with self.subTest(inputs=layer.inputs, output=layer.output):
                    result, expected = found[layer.output], tensors[layer.output]
                    self.assertEqual(result.shape, expected.shape)
                    if layer.integers:
                        difference = np.abs(result.astype(np.int64) - expected.astype(np.int64))
                        self.assertLessEqual(difference.max(), 1)
                        count = np.count_nonzero(difference)
                        # Of a tensor with few elements one may flip.
                        self.assertLessEqual(count, max(flips * difference.size, 1 if flips else 0))
                        integers, different = integers + difference.size, different + count
                        lively += np.unique(expected).size > 20
                    else:
                        self.assertLessEqual(np.abs(result - expected).max(), 1e-4 * np.abs(expected).max())
        self.assertGreater(lively, 0.7 * sum(layer.integers for group in groups for layer in group), "too many of Paddle's tensors have next to no values: this would prove nothing")
        self.assertLessEqual(different, flips * integers)

    def check_pictures(self, folder):
        case = cases.load(folder)
        pictures = cases.tensor(case["pictures"], [PICTURES, *case["evaluation"]], seed=900)
        feeds = [{"x": part} for part in np.split(pictures, 4)]
        output = self.paddle.program(folder).fetches[0]
        expected = np.concatenate([result[output] for result in self.paddle.run(folder, feeds)])
        found = np.concatenate([octet_side.run(folder, feed, [output])[output] for feed in feeds])
        self.check_answers(found, expected)

    def check_answers(self, found, expected):
        cosine = np.sum(found * expected, 1) / (np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1))
        self.assertGreaterEqual(cosine.mean(), 0.997)
        self.assertGreaterEqual(cosine.min(), 0.98)  # one flipped rounding can travel: Paddle's own answers to x and x*(1+1e-6) reach 0.9995
        self.assertGreaterEqual(np.mean(found.argmax(1) == expected.argmax(1)), 0.99)
        self.assertGreater(np.unique(expected.argmax(1)).size, 1, "Paddle gives one answer to all pictures: top-1 would prove nothing")

    def check_exactness(self, folder):
        """Every implementation, with any number of threads, gives the same bytes."""
        feed = cases.feeds(folder)[0]
        outputs = self.paddle.program(folder).fetches
        isas = octet_side.isas()
        self.assertIn("ref", isas)
        first = octet_side.run(folder, feed, outputs, threads=1, isa="ref")
        for isa in isas:
            for threads in (1, 2, 3):
                with self.subTest(model=folder.name, isa=isa, threads=threads):
                    for name, value in octet_side.run(folder, feed, outputs, threads, isa).items():
                        np.testing.assert_array_equal(value, first[name])
