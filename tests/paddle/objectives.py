"""What PaddleSlim's calibration minimises, in numpy, from its definition: to judge a threshold by its objective."""

import numpy as np

LEVELS, BINS = 127, 2048


def grid(x):
    """Each threshold that mse and emd try for one batch, with the batch as it quantizes."""
    largest = float(np.abs(x).max()) or 1e-8
    share = 0.3
    while share <= 1.0:
        threshold = share * largest
        yield threshold, np.clip(np.round(x / threshold * LEVELS), -LEVELS - 1, LEVELS) / LEVELS * threshold
        share += 0.02


def mse_losses(batches):
    """Threshold and loss of each candidate of all batches."""
    return [(t, float(np.mean(np.square(x - y, dtype=np.float64)))) for x in batches for t, y in grid(x)]


def emd_losses(batches):
    """Threshold, loss, and how much one value that rounds to the other side changes the loss."""
    def loss(x, y):
        x, y = x.astype(np.float64), y.astype(np.float64)
        return abs(x.mean() - y.mean()) + abs(x.std() - y.std())

    return [(t, loss(x, y), 2 * t / LEVELS / x.size) for x in batches for t, y in grid(x)]


def kl_divergences(batches):
    """Threshold and divergence of each candidate, from one histogram of all batches."""
    low, high = min(np.abs(x).min() for x in batches), max(np.abs(x).max() for x in batches)
    edges = (float(low), float(high))
    histogram = sum(np.histogram(np.abs(x), BINS, edges)[0] for x in batches).astype(np.float64)
    width = (edges[1] - edges[0]) / BINS
    return [((i + 0.5) * width, divergence(histogram, i)) for i in range((BINS - 1) // 2, BINS) if histogram[i - 1]]


def divergence(histogram, count):
    """Of the first `count` bins, with what lies above in the last one, from themselves in LEVELS groups."""
    p = histogram[:count].copy()
    p[-1] += histogram[count:].sum()
    size = count // LEVELS
    group = np.minimum(np.arange(count) // size, LEVELS - 1)
    filled = p > 0
    sums = np.bincount(group, histogram[:count])
    q = np.where(filled, (sums / np.maximum(np.bincount(group, filled), 1))[group], 0)
    p, q = p[filled], q[filled]
    return float((p @ np.log(q.sum() * p) - p @ np.log(p.sum() * q)) / p.sum())


def compare(curve, threshold):
    """The loss of the candidate that a threshold is, or is next to, and the least loss of all."""
    distance = min(abs(t - threshold) for t, _ in curve)
    return min(loss for t, loss in curve if abs(t - threshold) <= distance + 1e-5 * t), min(loss for _, loss in curve)
