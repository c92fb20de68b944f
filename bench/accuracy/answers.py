#!/usr/bin/env python3
"""What a model answers to all views: answers.py MODEL FOLDER OUT.npy

MODEL is a folder with model.onnx (ONNX Runtime runs it) or model.xml (OpenVINO); FOLDER has the views. Both compute what the file says, in
float: their int8 kernels saturate on CPUs without VNNI, unless weights have a reduced range, which costs more than it saves here.
"""

import pathlib
import sys

import numpy as np


def onnx_runtime(model):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model / "model.onnx"), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def openvino(model):
    import openvino

    compiled = openvino.Core().compile_model(model / "model.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32", "LP_TRANSFORMS_MODE": False})
    return lambda x: np.concatenate([compiled(picture[None])[0] for picture in x])


def main():
    model, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    run = onnx_runtime(model) if (model / "model.onnx").exists() else openvino(model)
    views = [np.load(file, mmap_mode="r") for file in sorted(folder.glob("views_*.npy"))]
    np.save(sys.argv[3], np.stack([np.concatenate([run(part) for part in np.array_split(view, -(-len(view) // 25))]) for view in views]))


if __name__ == "__main__":
    main()
