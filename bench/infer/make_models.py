#!/usr/bin/env python3
"""The network of this benchmark, for batches of any size: make_models.py NAME PICTURES COUNT OUT

Writes OUT/inference.pdmodel, which `octet ptq` quantizes, and OUT/int8.onnx: converted by paddle2onnx and quantized by ONNX Runtime's own
tool, calibrated on the first COUNT of the pictures. Time does not depend on the weights, so they are random.
"""

import os
import pathlib
import sys

import numpy as np
from onnx_side import load

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))


def export(name, out):
    import networks
    import paddle

    paddle.seed(7)
    model = getattr(paddle.vision.models, name)(pretrained=False)
    networks.take_norm_statistics(model, networks.sample_pictures(name, (1, 3, 224, 224), 4, seed=1))
    model.eval()
    paddle.jit.save(model, str(out / "inference"), input_spec=[paddle.static.InputSpec([None, 3, 224, 224], "float32", "x")])


def convert(out):
    import onnxruntime
    import paddle2onnx

    paddle2onnx.export(str(out / "inference.pdmodel"), str(out / "inference.pdiparams"), str(out / "raw.onnx"), opset_version=13,
                       auto_upgrade_opset=True, enable_onnx_checker=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(out / "float.onnx")
    onnxruntime.InferenceSession(str(out / "raw.onnx"), options, providers=["CPUExecutionProvider"])


def quantize(pictures, count, out):
    """QDQ, weights per channel; with reduced range where the CPU has no VNNI, as ONNX Runtime's documentation advises."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.paths = iter(sorted(pictures.glob("*.jpg"))[:count])

        def get_next(self):
            path = next(self.paths, None)
            return None if path is None else {"x": load(path)[None].astype(np.float32)}

    quant_pre_process(str(out / "float.onnx"), str(out / "prepared.onnx"), skip_symbolic_shape=True)
    has_vnni = "avx512_vnni" in pathlib.Path("/proc/cpuinfo").read_text()
    quantize_static(str(out / "prepared.onnx"), str(out / "int8.onnx"), Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                    reduce_range=not has_vnni, weight_type=QuantType.QInt8, activation_type=QuantType.QUInt8)


if __name__ == "__main__":
    os.environ["FLAGS_enable_pir_api"] = "0"
    folder = pathlib.Path(sys.argv[4])
    export(sys.argv[1], folder)
    convert(folder)
    quantize(pathlib.Path(sys.argv[2]), int(sys.argv[3]), folder)
