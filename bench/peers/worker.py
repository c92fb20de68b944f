#!/usr/bin/env python3
"""One engine with one model: worker.py ENGINE PRECISION FOLDER THREADS

Says {"version", "cosine", "load_ms", "loaded_bytes"} once it is ready; then answers each line "N" with the times of N runs,
[[ms, ms of CPU time, involuntary context switches], ...]; at the end of the input it says {"peak_bytes"}. All in JSON, a line each.
octet's counterpart is ../peers_worker.cc.
"""

import json
import os
import pathlib
import resource
import sys
import time

import numpy as np


def openvino(folder, int8, threads, x):
    import openvino

    yield openvino.__version__
    compiled = openvino.Core().compile_model(folder / ("openvino_int8.xml" if int8 else "openvino.xml"), "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1})
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(x))
    yield request.infer
    yield lambda: request.get_output_tensor(0).data


def ort(folder, int8, threads, x):
    import onnxruntime

    yield onnxruntime.__version__
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(str(folder / ("int8.onnx" if int8 else "model.onnx")), options,
                                           providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input(session.get_inputs()[0].name, x)
    binding.bind_output(session.get_outputs()[0].name)
    yield lambda: session.run_with_iobinding(binding)
    yield lambda: binding.copy_outputs_to_cpu()[0]


def paddle(folder, int8, threads, x):
    import paddle
    from paddle import inference

    yield paddle.__version__
    files = folder / "int8" if int8 else folder
    config = inference.Config(str(files / "inference.pdmodel"), str(files / "inference.pdiparams"))
    config.disable_gpu()
    config.disable_glog_info()
    config.switch_ir_optim(True)
    config.enable_memory_optim()
    config.set_cpu_math_library_num_threads(threads)
    config.enable_mkldnn()
    if int8:
        config.enable_mkldnn_int8()
    predictor = inference.create_predictor(config)
    handle = predictor.get_input_handle(predictor.get_input_names()[0])
    handle.reshape(x.shape)
    handle.copy_from_cpu(x)
    yield predictor.run
    yield lambda: predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()


def ncnn(folder, int8, threads, x):
    import ncnn

    yield ncnn.__version__
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_vulkan_compute = False
    for option in ("use_fp16_storage", "use_fp16_packed", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, option, False)
    net.load_param(str(folder / "ncnn.param"))
    net.load_model(str(folder / "ncnn.bin"))
    picture = ncnn.Mat(x[0]).clone()
    last = [None]

    def run():
        extractor = net.create_extractor()
        extractor.input("in0", picture)
        last[0] = extractor.extract("out0")[1]

    yield run
    yield lambda: np.array(last[0])


def mnn(folder, int8, threads, x):
    import MNN

    yield MNN.version()
    net = MNN.Interpreter(str(folder / "model.mnn"))
    session = net.createSession({"numThread": threads, "backend": "CPU", "precision": "high"})
    target = net.getSessionInput(session)
    source = MNN.Tensor(x.shape, MNN.Halide_Type_Float, x, MNN.Tensor_DimensionType_Caffe)

    def run():
        target.copyFrom(source)  # the session uses the input's memory for other things: it must be filled every time
        net.runSession(session)

    yield run
    yield lambda: np.array(net.getSessionOutput(session).getData(), np.float32)


def memory(field):
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0]) * 1024


def cosine(a, b):
    a, b = np.asarray(a, np.float64).ravel(), np.asarray(b, np.float64).ravel()
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-300)) if a.size == b.size else 0.0


def measure(run):
    preempted = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    cpu, start = time.process_time(), time.perf_counter()
    run()
    stop, cpu_stop = time.perf_counter(), time.process_time()
    return [(stop - start) * 1e3, (cpu_stop - cpu) * 1e3, resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - preempted]


def main():
    engine, precision, folder, threads = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the engines print goes to stderr

    def say(answer):
        print(json.dumps(answer), file=answers, flush=True)

    x, expected = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    steps = {"openvino": openvino, "ort": ort, "paddle": paddle, "ncnn": ncnn, "mnn": mnn}[engine](folder, precision == "int8", threads, x)
    version = next(steps)
    before = memory("VmRSS")
    start = time.perf_counter()
    run = next(steps)
    run()
    load_ms = (time.perf_counter() - start) * 1e3
    output = next(steps)
    say({"version": version, "cosine": cosine(output(), expected), "load_ms": load_ms, "loaded_bytes": memory("VmHWM") - before})
    for line in sys.stdin:
        say([measure(run) for _ in range(int(line))])
    say({"peak_bytes": memory("VmHWM") - before, "process_peak_bytes": memory("VmHWM")})
    os._exit(0)  # some engines crash while they are taken down


if __name__ == "__main__":
    main()
