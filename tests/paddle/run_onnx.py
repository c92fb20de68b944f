"""ONNX models in ONNX Runtime, in the Python that starts this, which has no Paddle.

    run_onnx.py FEEDS.npz OUT.npz MODEL...

FEEDS has an array for each input, OUT gets arrays "MODEL OUTPUT", both counted from 0.
"""

import sys

import numpy as np
import onnxruntime


def main():
    feeds, out, *models = sys.argv[1:]
    found = {}
    with np.load(feeds) as arrays:
        feed = dict(arrays)
    for i, model in enumerate(models):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        named = dict(zip((value.name for value in session.get_inputs()), feed.values()))
        found |= {f"{i} {k}": value for k, value in enumerate(session.run(None, named))}
    np.savez(out, **found)


if __name__ == "__main__":
    main()
