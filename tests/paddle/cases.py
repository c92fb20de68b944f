"""What to feed a model of the collection: its case.json names the shapes and the kind of picture."""

import json
import pathlib

import numpy as np

import pictures


def tensor(kind, shape, seed):
    if kind == "photo":
        return pictures.photos(shape[0], shape[2], shape[3], seed)[0]
    if kind == "text":
        return pictures.text_lines(shape[0], shape[2], shape[3], seed)[0]
    if kind == "page":
        return np.concatenate([pictures.page(shape[2], shape[3], seed + i) for i in range(shape[0])])
    return np.random.default_rng(seed).normal(0, 1.5, shape).astype(np.float32)


def load(folder):
    return json.loads((pathlib.Path(folder) / "case.json").read_text())


def feeds(folder):
    """One feed (name -> array) for each size that the case lists."""
    case = load(folder)
    return [{name: tensor(case["pictures"], shape, 100 * i + j) for j, (name, shape) in enumerate(sizes.items())}
            for i, sizes in enumerate(case["inputs"])]
