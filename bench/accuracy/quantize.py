#!/usr/bin/env python3
"""One peer's int8 model of a network, made by its own tool from the same pictures: quantize.py VARIANT FOLDER OUT

FOLDER is what nets.py made. Writes the model into OUT, and OUT/seconds: the time of quantizing alone, with all packages imported.
"""

import logging
import os
import pathlib
import sys
import time

import numpy as np


def onnx_runtime(method, **options):
    def quantize(folder, out, data):
        from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
        from onnxruntime.quantization.shape_inference import quant_pre_process

        class Reader(CalibrationDataReader):
            def __init__(self):
                self.feeds = iter([{"x": x[None]} for x in data])

            def get_next(self):
                return next(self.feeds, None)

        start = time.monotonic()
        quant_pre_process(str(folder / "model.onnx"), str(out / "prepared.onnx"), skip_symbolic_shape=True)
        quantize_static(str(out / "prepared.onnx"), str(out / "model.onnx"), Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                        weight_type=QuantType.QInt8, activation_type=QuantType.QUInt8, calibrate_method=CalibrationMethod[method], **options)
        seconds = time.monotonic() - start
        (out / "prepared.onnx").unlink()
        return seconds

    return quantize


def nncf(preset, fast_bias_correction, overflow_fix):
    def quantize(folder, out, data):
        import nncf as tool
        import openvino

        tool.set_log_level(logging.ERROR)
        network = openvino.Core().read_model(folder / "inference.pdmodel")
        network.reshape([1, *data.shape[1:]])
        advanced = tool.AdvancedQuantizationParameters(overflow_fix=tool.OverflowFix(overflow_fix)) if overflow_fix else None
        start = time.monotonic()
        quantized = tool.quantize(network, tool.Dataset([x[None] for x in data]), preset=tool.QuantizationPreset(preset), subset_size=len(data),
                                  fast_bias_correction=fast_bias_correction, advanced_parameters=advanced)
        seconds = time.monotonic() - start
        openvino.save_model(quantized, out / "model.xml", compress_to_fp16=False)
        return seconds

    return quantize


def paddleslim(algo):
    def quantize(folder, out, data):
        import paddle
        from paddleslim.quant import quant_post_static

        paddle.enable_static()
        start = time.monotonic()
        quant_post_static(
            paddle.static.Executor(paddle.CPUPlace()), str(folder), str(out), data_loader=lambda: ({"x": x} for x in np.split(data, len(data) // 10)),
            model_filename="inference.pdmodel", params_filename="inference.pdiparams", save_model_filename="inference.pdmodel",
            save_params_filename="inference.pdiparams", batch_nums=len(data) // 10, algo=algo, onnx_format=True,
            weight_quantize_type="channel_wise_abs_max")
        return time.monotonic() - start

    return quantize


VARIANTS = {
    # Its documentation: per channel, and reduced range on CPUs without VNNI; here the files are judged without it, too.
    "ONNX Runtime, MinMax": onnx_runtime("MinMax"),
    "ONNX Runtime, MinMax, reduced range": onnx_runtime("MinMax", reduce_range=True),
    "ONNX Runtime, Entropy": onnx_runtime("Entropy"),
    "ONNX Runtime, Percentile": onnx_runtime("Percentile"),
    "NNCF, default": nncf("performance", True, None),
    "NNCF, mixed": nncf("mixed", True, None),
    "NNCF, mixed, accurate bias correction": nncf("mixed", False, None),
    "NNCF, mixed, accurate bias correction, overflow fix": nncf("mixed", False, "enable"),
    "PaddleSlim, hist": paddleslim("hist"),
    "PaddleSlim, KL": paddleslim("KL"),
    "PaddleSlim, mse": paddleslim("mse"),
    "PaddleSlim, avg": paddleslim("avg"),
}
IMAGENET = list(VARIANTS)[:10]


if __name__ == "__main__":
    os.environ["FLAGS_enable_pir_api"] = "0"
    variant, folder, out = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
    seconds = VARIANTS[variant](folder, out, np.load(folder / "calibrate.npy"))
    (out / "seconds").write_text(f"{seconds:.1f}\n")
