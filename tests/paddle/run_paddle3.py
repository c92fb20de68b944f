"""One model in every way that Paddle 3 has to run it, in the Python that starts this: each release has its own.

    run_paddle3.py FOLDER FEEDS.npz OUT.npz WAY...

FEEDS has arrays "INDEX NAME", OUT gets arrays "WAY INDEX OUTPUT".
"""

import os
import sys

os.environ |= {"FLAGS_enable_pir_api": "1", "OMP_NUM_THREADS": "1", "GLOG_minloglevel": "3"}

import numpy as np

import paddle_side

WAYS = {
    "inference": lambda folder, feeds: [list(result.values()) for result in paddle_side._run(folder, feeds, True)],
    "inference_unoptimised": lambda folder, feeds: [list(result.values()) for result in paddle_side._run(folder, feeds, False)],
    "static": paddle_side._run_static,
    "dynamic": paddle_side._run_dynamic,
}


def pack(feeds):
    return {f"{i} {name}": value for i, feed in enumerate(feeds) for name, value in feed.items()}


def unpack(arrays):
    feeds = {}
    for key in arrays:
        index, name = key.split(" ", 1)
        feeds.setdefault(int(index), {})[name] = arrays[key]
    return [feeds[i] for i in sorted(feeds)]


def main():
    folder, inputs, out, *ways = sys.argv[1:]
    feeds, found = unpack(np.load(inputs)), {}
    for way in ways:
        for i, outputs in enumerate(WAYS[way](folder, feeds)):
            found |= {f"{way} {i} {k}": value for k, value in enumerate(outputs)}
    np.savez(out, **found)


if __name__ == "__main__":
    main()
