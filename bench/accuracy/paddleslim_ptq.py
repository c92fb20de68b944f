#!/usr/bin/env python3
"""PaddleSlim's quant_post_static on pictures of a list: paddleslim_ptq.py MODEL LIST ALGO OUT

timing.py measures its time and memory, from the start of the process to its end.
"""

import os
import sys

os.environ["FLAGS_enable_pir_api"] = "0"

import numpy as np  # noqa: E402
import paddle  # noqa: E402
from paddleslim.quant import quant_post_static  # noqa: E402
from PIL import Image  # noqa: E402

BATCH = 10
MEAN, STD = (np.array(v, np.float32).reshape(3, 1, 1) for v in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))


def picture(path):
    return (np.asarray(Image.open(path).convert("RGB"), np.float32).transpose(2, 0, 1) / 255 - MEAN) / STD


def main():
    model, files, algo, out = sys.argv[1:]
    paths = [os.path.join(os.path.dirname(files), line.split()[0]) for line in open(files)]

    def loader():
        for i in range(0, len(paths), BATCH):
            yield {"x": np.stack([picture(path) for path in paths[i : i + BATCH]])}

    paddle.enable_static()
    quant_post_static(paddle.static.Executor(paddle.CPUPlace()), model, out, data_loader=loader, model_filename="inference.pdmodel",
                      params_filename="inference.pdiparams", batch_nums=-(-len(paths) // BATCH), algo=algo)


if __name__ == "__main__":
    main()
