#!/usr/bin/env python3
"""octet's int8 ONNX files in ONNX Runtime and OpenVINO, with all of their optimizations: do they answer as in octet, in integers, and as fast as
files of those runtimes' own tools?

    runtimes.py --octet build/release/octet --pictures DIR [--network efficientnet_lite0] --json FILE

The network and its views are those of ../accuracy (DIR has list.txt). Needs a CPU with an 8-bit dot product: without one both runtimes saturate.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "accuracy"), str(HERE.parent / "peers")]
import accuracy  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import openvino  # noqa: E402

CONVOLUTIONS = ("Conv", "FusedConv", "ConvTranspose", "NhwcFusedConv", "Gemm", "MatMul", "FusedMatMul", "FusedGemm")


def ort_session(path, threads, optimized=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    if optimized:
        options.optimized_model_filepath = str(optimized)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ov_model(path, threads):
    return openvino.Core().compile_model(path, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                                                       "INFERENCE_PRECISION_HINT": "f32"})


def ov_picture(path, shape):
    """The same with pictures one by one, which is what it compiles best."""
    network = openvino.Core().read_model(path)
    network.reshape([1, *shape])
    return network


def floats_in_file(path):
    """Layers that the file itself has in float: what they read is no DequantizeLinear."""
    graph = onnx.load(path).graph
    made = {name: node.op_type for node in graph.node for name in node.output}
    layers = [node for node in graph.node if node.op_type in CONVOLUTIONS]
    return len(layers), sum(made.get(node.input[0]) != "DequantizeLinear" for node in layers)


def ort_layers(path, scratch):
    """Integer and float layers of the graph that ONNX Runtime runs."""
    ort_session(path, 1, scratch / "optimized.onnx")
    ops = [node.op_type for node in onnx.load(scratch / "optimized.onnx").graph.node]
    return sum(op in ("QLinearConv", "QGemm", "QLinearMatMul", "MatMulIntegerToFloat") for op in ops), sum(op in CONVOLUTIONS for op in ops)


def ov_layers(compiled):
    kinds = [(info["layerType"], info["runtimePrecision"]) for info in
             ({key: str(node.get_rt_info()[key].astype(str)) for key in ("layerType", "runtimePrecision")}
              for node in compiled.get_runtime_model().get_ordered_ops())]
    layers = [precision for kind, precision in kinds if kind in ("Convolution", "Deconvolution", "FullyConnected", "MatMul")]
    return sum(precision in ("i8", "u8") for precision in layers), sum(precision not in ("i8", "u8") for precision in layers)


def answers(network, run):
    result = []
    for file in sorted(network.glob("views_*.npy")):
        result.append(np.concatenate([run(picture[None]) for picture in np.load(file, mmap_mode="r")]))
    return np.stack(result)


def turns(runs, rounds=25):
    """The least milliseconds of each, which take turns."""
    best = {name: np.inf for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            run()
            for _ in range(3):
                start = time.perf_counter()
                run()
                best[name] = min(best[name], (time.perf_counter() - start) * 1e3)
    return best


def peer(variant, network):
    def make(folder):
        accuracy.say(f"{network.name}: {variant} ...")
        accuracy.child("quantize.py", variant, network, folder)

    name = "".join(c if c.isalnum() else "-" for c in variant)
    return accuracy.made(network / f"{name}-{accuracy.key_of(HERE.parent / 'accuracy' / 'quantize.py')}", make)


def study(program, network, scratch, timed, ours):
    if not ours.exists():
        subprocess.run([program, "ptq", "--model_path", network / "model.onnx", "--data_dir", network / "calibrate.npy", "--output_dir", ours],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shape = np.load(network / "views_00.npy", mmap_mode="r").shape[1:]
    result = dict(zip(("layers", "float_on_purpose"), floats_in_file(ours)))
    compiled = openvino.Core().compile_model(ov_picture(ours, shape), "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    result["ort_layers"], result["ov_layers"] = ort_layers(ours, scratch), ov_layers(compiled)
    if timed != "only":
        expected = accuracy.octet_answers(program, ours, network, scratch).argmax(-1)
        fp32 = accuracy.octet_answers(program, network, network, scratch).argmax(-1)
        session = ort_session(ours, 0)
        name = session.get_inputs()[0].name
        found = {"ort": answers(network, lambda x: session.run(None, {name: x})[0]).argmax(-1),
                 "openvino": answers(network, lambda x: compiled(x)[0]).argmax(-1)}
        result |= {"views": expected.size, "octet_as_fp32": float((expected == fp32).mean())}
        result |= {f"{key}_as_octet": float((value == expected).mean()) for key, value in found.items()}
        result |= {f"{key}_as_fp32": float((value == fp32).mean()) for key, value in found.items()}
    if timed != "no":
        x = np.ascontiguousarray(np.load(network / "views_00.npy", mmap_mode="r")[:1])
        runs = {}
        own_ort, own_ov = peer("ONNX Runtime, MinMax", network) / "model.onnx", peer("NNCF, default", network) / "model.xml"
        for key, path in {"ort_octet": ours, "ort_own": own_ort, "ort_fp32": network / "model.onnx"}.items():
            session = ort_session(path, 1)
            runs[key] = lambda session=session: session.run(None, {session.get_inputs()[0].name: x})
        for key, path in {"ov_octet": ours, "ov_own": own_ov, "ov_fp32": network / "model.onnx"}.items():
            request = openvino.Core().compile_model(ov_picture(path, shape), "CPU", {
                "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
            request.set_input_tensor(openvino.Tensor(x))
            runs[key] = request.infer
        result["ms"] = turns(runs)
    return result


def main():
    parser = argparse.ArgumentParser(prog="bench/onnx/runtimes.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", type=pathlib.Path, default=ROOT / "build" / "release" / "octet")
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    parser.add_argument("--network", default="efficientnet_lite0")
    parser.add_argument("--timed", choices=("yes", "no", "only"), default="yes", help="whether to measure times, or nothing else")
    parser.add_argument("--int8", type=pathlib.Path, help="octet's file, which is made if it is not there; else it is made and not kept")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    options = parser.parse_args()
    network = accuracy.network_folder(options.network, options.pictures.resolve())
    with tempfile.TemporaryDirectory() as scratch:
        row = study(options.octet.resolve(), network, pathlib.Path(scratch), options.timed, options.int8 or pathlib.Path(scratch) / "int8.onnx")
    print(json.dumps(row))
    rows = json.loads(options.json.read_text()) if options.json.exists() else {}
    options.json.write_text(json.dumps(rows | {options.network: rows.get(options.network, {}) | row}, indent=1) + "\n")


if __name__ == "__main__":
    main()
