#!/usr/bin/env python3
"""The float models of nets.py in octet, ONNX Runtime and OpenVINO, taking turns on one thread: speed.py --json FILE [--only TEXT]

With --int8 DIR also octet's int8 files, where accuracy.py has kept them (--keep DIR).
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
sys.path.insert(0, str(HERE))
import found  # noqa: E402
import nets  # noqa: E402
import onnxruntime  # noqa: E402
import openvino  # noqa: E402


def shape_of(net):
    height, width = net.size[0], net.size[1] or 320
    if net.input:
        return tuple(map(int, net.input.split("x")))
    return (1, height, width, 3) if net.layout == "nhwc" else (1, 1 if net.layout == "grey" else 3, height, width)


def peers(path, x):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 4
    result = {}
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        feed = {session.get_inputs()[0].name: x}
        result["ort"] = lambda: session.run(None, feed)
        network = openvino.Core().read_model(path)
        network.reshape(list(x.shape))
        request = openvino.Core().compile_model(network, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1,
                                                                 "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
        request.set_input_tensor(openvino.Tensor(x))
        result["openvino"] = request.infer
    except Exception as error:  # what an engine can't load is left out
        print(f"{path.name}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
    for run in result.values():
        run()
    return result


def study(net, program, int8, rounds, scratch):
    path, shape = found.model(net), shape_of(net)
    if net.input:
        subprocess.run([program, "convert", "--model", path, "--input", net.input, "--output", scratch / "fixed.onnx"], check=True, stdout=subprocess.DEVNULL)
        path = scratch / "fixed.onnx"
    x = np.random.default_rng(1).random(shape, dtype=np.float32)
    runs, least = peers(path, x), {}
    ours = [path] + [file for file in [int8 and int8 / net.name.replace(" ", "-") / "int8.onnx"] if file and file.exists()]
    for _ in range(rounds):
        for name, run in runs.items():
            until = time.perf_counter() + 0.4
            for i in range(100):
                start = time.perf_counter()
                run()
                least[name] = min(least.get(name, np.inf), (time.perf_counter() - start) * 1e3)
                if i > 2 and time.perf_counter() > until:
                    break
        count = max(4, min(100, int(400 / least["ort"])))
        command = [program, "bench", "--input", "x".join(map(str, shape)), "--threads", "1", "--runs", str(count), "--json", scratch / "bench.json"]
        for file in ours:
            command += ["--model", file]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for name, row in zip(("octet", "octet_int8"), json.loads((scratch / "bench.json").read_text())):
            least[name] = min(least.get(name, np.inf), row["min_ms"])
    best = min(value for name, value in least.items() if name in runs)
    ratios = {"fp32_ratio": least["octet"] / best} | ({"int8_ratio": least["octet_int8"] / best} if "octet_int8" in least else {})
    return {name: round(value, 3) for name, value in (least | ratios).items()} | {"shape": "x".join(map(str, shape))}


def main():
    parser = argparse.ArgumentParser(prog="bench/onnx/speed.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", type=pathlib.Path, default=ROOT / "build" / "release" / "octet")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT")
    parser.add_argument("--int8", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    options = parser.parse_args()
    for name, net in nets.NETS.items():
        if options.only and not any(text in name for text in options.only):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                row = study(net, options.octet.resolve(), options.int8, options.rounds, pathlib.Path(scratch))
            except Exception as error:
                row = {"failed": str(error)[-200:]}
        print(name, json.dumps(row), flush=True)
        rows = json.loads(options.json.read_text()) if options.json.exists() else {}
        options.json.write_text(json.dumps(rows | {name: row}, indent=1) + "\n")


if __name__ == "__main__":
    main()
