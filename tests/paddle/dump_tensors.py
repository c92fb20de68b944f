#!/usr/bin/env python3
"""Writes what real Paddle computes for a model as .npy files, to find the first tensor that octet computes differently.

    dump_tensors.py MODEL_DIR [--out DIR] [--inner]

MODEL_DIR is a folder made by make_models.py. Writes DIR/<case>/in/NAME.npy and out/NAME.npy, and with --inner all inner tensors
of the first case as inner/NAME.npy; a slash in a name becomes a plus sign. DIR is MODEL_DIR/paddle unless told.
"""

import argparse
import pathlib

import numpy as np

import cases
import paddle_side


def save(folder, tensors):
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in tensors.items():
        np.save(folder / (name.replace("/", "+") + ".npy"), value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--inner", action="store_true")
    arguments = parser.parse_args()
    out = arguments.out or arguments.model / "paddle"
    paddle = paddle_side.Paddle()
    feeds = cases.feeds(arguments.model)
    for i, (feed, outputs) in enumerate(zip(feeds, paddle.run(arguments.model, feeds))):
        save(out / str(i) / "in", feed)
        save(out / str(i) / "out", outputs)
    if arguments.inner:
        program = paddle.program(arguments.model)
        names = [n for op in program.ops for slot, ns in op.outputs.items() if slot != "XShape" for n in ns if n not in program.persistable]
        save(out / "0" / "inner", paddle.tensors(arguments.model, feeds[0], list(dict.fromkeys(names))))
    paddle.close()


if __name__ == "__main__":
    main()
