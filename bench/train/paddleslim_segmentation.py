"""PaddleSlim's quant_post_static of an exported segmentation model, as PaddleSeg's ptq.py calls it (KL), on pictures of a list:

    paddleslim_segmentation.py MODEL LIST COUNT OUT
"""
import os
import sys

os.environ["FLAGS_enable_pir_api"] = "0"

import numpy as np  # noqa: E402
import paddle  # noqa: E402
from paddleslim.quant import quant_post_static  # noqa: E402
from PIL import Image  # noqa: E402


def picture(path):
    pixels = np.asarray(Image.open(path).convert("RGB"), np.float32).transpose(2, 0, 1)
    return ((pixels / 255 - 0.5) / 0.5)[None].astype("float32")


def main():
    model, files, count, out = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    paths = [os.path.join(os.path.dirname(files), line.split()[0]) for line in open(files)]
    paths = [paths[i] for i in np.random.default_rng(0).permutation(len(paths))[:count]]
    paddle.enable_static()
    quant_post_static(paddle.static.Executor(paddle.CPUPlace()), model, out, data_loader=lambda: ({"x": picture(path)} for path in paths),
                      model_filename="model.pdmodel", params_filename="model.pdiparams", save_model_filename="model.pdmodel",
                      save_params_filename="model.pdiparams", batch_nums=count, algo="KL", onnx_format=True)


if __name__ == "__main__":
    main()
