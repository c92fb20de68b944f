#!/usr/bin/env python3
"""Makes one file of one model, in the environment that has what it takes: steps.py STEP MODEL FOLDER

Each engine gets the model in its own format, made by its own tools as their documentation says.
"""

import logging
import os
import pathlib
import re
import subprocess
import sys

import models

CALIBRATION_PICTURES = {"bisenetv2": 8, "pp_liteseg_stdc1": 8, "deeplabv3p_resnet50_os8": 8}


def calibration(model):
    import networks

    return networks.sample_pictures(model.name, model.shape, CALIBRATION_PICTURES.get(model.name, 32), seed=5)


def export(model, folder):
    import networks

    networks.export(model.name, model.shape, folder)


def octet_int8(model, folder):
    """`octet ptq`. Without adaround, which takes its time and decides only which way weights are rounded."""
    import numpy

    numpy.save(folder / "calibration.npy", calibration(model))
    subprocess.run([os.environ["OCTET_PROGRAM"], "ptq", "--model-path", folder, "--model-filename", "inference.pdmodel", "--params-filename",
                    "inference.pdiparams", "--data-dir", folder / "calibration.npy", "--batch-size", "8", "--fast", "--output-dir",
                    folder / "octet"], check=True)
    (folder / "calibration.npy").unlink()


def paddle_int8(model, folder):
    """PaddleSlim's post-training quantization."""
    import paddle
    from paddleslim.quant import quant_post_static

    data = calibration(model)
    paddle.enable_static()
    quant_post_static(
        paddle.static.Executor(paddle.CPUPlace()), str(folder), str(folder / "int8"), data_loader=lambda: ({"x": x[None]} for x in data),
        model_filename="inference.pdmodel", params_filename="inference.pdiparams", save_model_filename="inference.pdmodel",
        save_params_filename="inference.pdiparams", batch_nums=len(data), algo="hist", onnx_format=True,
        weight_quantize_type="channel_wise_abs_max",
        quantizable_op_type=["conv2d", "depthwise_conv2d", "conv2d_transpose", "mul", "matmul", "matmul_v2"])


def onnx(model, folder):
    """paddle2onnx, then ONNX Runtime's basic optimizations: batch norm folded, no identities. For every engine that reads ONNX."""
    import onnxruntime
    import paddle2onnx

    raw = folder / "raw.onnx"
    paddle2onnx.export(str(folder / "inference.pdmodel"), str(folder / "inference.pdiparams"), str(raw), opset_version=13,
                       auto_upgrade_opset=True, enable_onnx_checker=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(folder / "model.onnx")
    onnxruntime.InferenceSession(str(raw), options, providers=["CPUExecutionProvider"])
    raw.unlink()


def onnx_int8(model, folder):
    """ONNX Runtime's static quantization: QDQ, 8-bit weights per channel with reduced range, as it advises for AVX2 without VNNI."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.feeds = iter([{"x": x[None]} for x in calibration(model)])

        def get_next(self):
            return next(self.feeds, None)

    prepared = folder / "prepared.onnx"
    quant_pre_process(str(folder / "model.onnx"), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(folder / "int8.onnx"), Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    reduce_range=True, weight_type=QuantType.QInt8, activation_type=QuantType.QUInt8)
    prepared.unlink()


def read_for_openvino(model, folder):
    import openvino

    # OpenVINO's own reader of Paddle files keeps hard-swish as one op; paddle2onnx takes it apart and it runs unfused.
    network = openvino.Core().read_model(folder / "inference.pdmodel")
    network.reshape(list(model.shape))
    return network


def openvino_fp32(model, folder):
    import openvino

    openvino.save_model(read_for_openvino(model, folder), folder / "openvino.xml", compress_to_fp16=False)


def openvino_int8(model, folder):
    import nncf
    import openvino

    nncf.set_log_level(logging.ERROR)
    data = [x[None] for x in calibration(model)]
    quantized = nncf.quantize(read_for_openvino(model, folder), nncf.Dataset(data), preset=nncf.QuantizationPreset.MIXED,
                              subset_size=len(data))
    openvino.save_model(quantized, folder / "openvino_int8.xml", compress_to_fp16=False)


def ncnn(model, folder):
    import importlib.util

    program = pathlib.Path(importlib.util.find_spec("pnnx").submodule_search_locations[0]) / "pnnx"
    shape = "[" + ",".join(map(str, model.shape)) + "]"
    subprocess.run([program, folder / "model.onnx", f"inputshape={shape}", "fp16=0", f"ncnnparam={folder}/ncnn.param",
                    f"ncnnbin={folder}/ncnn.bin", f"ncnnpy={folder}/ncnn.py", f"pnnxparam={folder}/pnnx.param",
                    f"pnnxbin={folder}/pnnx.bin", f"pnnxpy={folder}/pnnx.py", f"pnnxonnx={folder}/pnnx.onnx"], check=True)
    resize_to_interp(folder)
    for rest in ("ncnn.py", "pnnx.param", "pnnx.bin", "pnnx.py", "pnnx.onnx", "model.pnnxsim.onnx"):
        (folder / rest).unlink(missing_ok=True)


def resize_to_interp(folder):
    """pnnx leaves ONNX's bilinear Resize as it is; ncnn's name for it is Interp (0: kind, 3 and 4: height and width)."""
    sizes = dict(re.findall(r"^Resize +(\S+) .*mode=linear .*sizes=\(([\d,]+)\)", (folder / "pnnx.param").read_text(), re.MULTILINE))

    def interp(match):
        height, width = sizes[match[1]].split(",")[2:]
        return f"Interp {match[1]} {match[2]} 0=2 3={height} 4={width}"

    param = (folder / "ncnn.param").read_text()
    (folder / "ncnn.param").write_text(re.sub(r"^Resize +(\S+) +(.*)$", interp, param, flags=re.MULTILINE))


def mnn(model, folder):
    # The native module: the wheel's console commands install packages on their own.
    import _tools

    _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", str(folder / "model.onnx"), "--MNNModel", str(folder / "model.mnn"),
                       "--bizCode", "octet"])


# step -> what makes it, and the step that it works on
STEPS = {
    "export": (export, None),
    "octet_int8": (octet_int8, "export"),
    "paddle_int8": (paddle_int8, "export"),
    "onnx": (onnx, "export"),
    "onnx_int8": (onnx_int8, "onnx"),
    "openvino": (openvino_fp32, "export"),
    "openvino_int8": (openvino_int8, "export"),
    "ncnn": (ncnn, "onnx"),
    "mnn": (mnn, "onnx"),
}


if __name__ == "__main__":
    os.environ["FLAGS_enable_pir_api"] = "0"
    STEPS[sys.argv[1]][0](models.MODELS[sys.argv[2]], pathlib.Path(sys.argv[3]))
