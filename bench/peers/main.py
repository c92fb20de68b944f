#!/usr/bin/env python3
"""Runs octet and other engines on the same models in one interleaved run, and writes bench/results/peers-vnni.md on a CPU with an 8-bit dot
product, peers-avx2.md on others.

    make bench-peers                                             everything; some minutes once the models are made
    bench/peers/run --models mobilenet_v3_small --engines octet,openvino,ort --threads 1 --fp32-only     a part, in a minute

Every engine with a model is one process that lives through the whole measurement. They take turns, round after round, on the same
core(s), so whatever else the machine does hits all of them. A part that has all engines replaces its tables in bench/results; one
that hasn't is only printed.
"""

import argparse
import datetime
import fcntl
import functools
import hashlib
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import environments
import models
import report
import steps
from environments import CACHE, HERE, say

ROOT = HERE.parents[1]
RESULTS = ROOT / "bench" / "results"
ROUNDS = 12
WARM_UP_MS = 30  # untimed runs at the beginning of a turn, at least two: others have emptied the caches, and threads find their cores
SLOW_MS = 1000  # a model that takes longer than this runs once a turn
LOAD_STARTS = 5  # fresh processes for the time from the start of loading to the first result
LOAD_MODEL = "mobilenet_v3_small"
LINE_TIMEOUT = 900
ENGINES = ("octet", "openvino", "ort", "paddle", "ncnn", "mnn")
NEEDS = {  # what must be made before an engine can run in a precision; None: the engine's package can't quantize
    ("octet", "fp32"): "export", ("octet", "int8"): "octet_int8",
    ("paddle", "fp32"): "export", ("paddle", "int8"): "paddle_int8",
    ("openvino", "fp32"): "openvino", ("openvino", "int8"): "openvino_int8",
    ("ort", "fp32"): "onnx", ("ort", "int8"): "onnx_int8",
    ("ncnn", "fp32"): "ncnn", ("mnn", "fp32"): "mnn",
}


def models_folder():
    key = hashlib.sha256()
    for name in environments.PINS:
        key.update(environments.pins_hash(name).encode())
    for script in (HERE / "networks.py", HERE / "steps.py", ROOT / "tests" / "paddle" / "pictures.py"):
        key.update(script.read_bytes())
    return CACHE / f"peers-models-{key.hexdigest()[:12]}"


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else "it ended without a word")[:160].replace("|", "/")


@functools.lru_cache(maxsize=None)  # several variants may need the step, and one failure is enough
def make(step, model, folder, program):
    """Makes what a step makes, and what it works on, unless it is there. Returns why that failed, or None."""
    done = folder / f"{step}.done"
    if done.exists():
        return None
    before = steps.STEPS[step][1]
    reason = before and make(before, model, folder, program)
    if reason:
        return reason
    say(f"{model}: {step} ...")
    python = environments.environment_python(models.MODELS[model].environment if step == "export" else "engines")
    environment = os.environ | {"FLAGS_enable_pir_api": "0", "GLOG_minloglevel": "2", "PYTHONHASHSEED": "0", "OCTET_PROGRAM": str(program)}
    # In a folder of its own, since some of the tools write into the current one.
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run([python, HERE / "steps.py", step, model, folder], cwd=scratch, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    (folder / f"{step}.log").write_text(result.stdout)
    if result.returncode != 0:
        return f"{step}: {last_line(result.stdout)}"
    done.touch()
    return None


def prepare(model, variants, program):
    """The model's folder, and for each variant that can't be had the reason."""
    folder = models_folder() / model.name
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return folder, {variant: make(NEEDS[variant], model.name, folder, program) for variant in variants}


class Worker:
    """A process with one engine and one model (worker.py, ../peers_worker.cc)."""

    def __init__(self, variant, folder, threads, cores, octet):
        self.engine, self.precision = variant
        if self.engine == "octet":
            command = [octet, folder / "octet" if self.precision == "int8" else folder, folder / "x.npy", folder / "y.npy", str(threads)]
        else:
            command = [environments.environment_python("engines"), HERE / "worker.py", self.engine, self.precision, folder, str(threads)]
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        environment = os.environ | {"OMP_NUM_THREADS": str(threads), "GLOG_minloglevel": "2"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        env=environment, preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.hello = self.answer()
        self.sleep()
        self.times = []

    def sleep(self):
        """Some engines' threads go on looking for work after a run, and would take the second core from the next engine."""
        self.process.send_signal(signal.SIGSTOP)

    def wake(self):
        self.process.send_signal(signal.SIGCONT)

    def answer(self):
        ready, _, _ = select.select([self.process.stdout], [], [], LINE_TIMEOUT)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.errors.seek(0)
        reason = last_line(self.errors.read()) if ready else f"no answer within {LINE_TIMEOUT} s"
        self.stop()
        raise RuntimeError(reason)

    def run(self, count):
        self.wake()
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.sleep()
        return answer

    def close(self):
        """Ends it in order; returns what it has to say at the end."""
        self.wake()
        self.process.stdin.close()
        farewell = self.answer()
        self.process.wait()
        self.stop()
        return farewell

    def stop(self):
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            file.close()


def start(variant, folder, threads, cores, octet):
    """A worker, or the reason why there is none."""
    try:
        worker = Worker(variant, folder, threads, cores, octet)
        if variant[1] == "fp32" and worker.hello["cosine"] < 0.999:
            worker.stop()
            return f"wrong result: its cosine to Paddle's is {worker.hello['cosine']:.4f}"
        return worker
    except RuntimeError as error:
        return str(error)


def measure(model, threads, folder, failures, options):
    """One interleaved measurement: how busy the cores were before it, and a row for each variant."""
    cores, busy = choose_cores(threads, options.cores)
    say(f"{model.name}, {threads} thread{'s' if threads > 1 else ''} on core {', '.join(map(str, sorted(cores)))}, "
        f"of which others use {busy:.0%} ...")
    rows, workers = [], []
    for variant, reason in failures.items():
        worker = reason or start(variant, folder, threads, cores, options.octet)
        if isinstance(worker, str):
            rows.append({"engine": variant[0], "precision": variant[1], "failed": worker})
        else:
            workers.append(worker)
    rounds = min(ROUNDS, options.runs)
    turns = {}
    for worker in workers:
        ms = min(ms for ms, _, _ in worker.run(3))
        turns[worker] = (0, 1) if ms > SLOW_MS else (max(2, round(WARM_UP_MS / ms)), -(-options.runs // rounds))
    for _ in range(rounds):
        for worker in list(workers):
            warm_up, count = turns[worker]
            try:
                worker.times += worker.run(warm_up + count)[warm_up:]
            except RuntimeError as error:
                rows.append({"engine": worker.engine, "precision": worker.precision, "failed": str(error)})
                workers.remove(worker)
    for worker in workers:
        ms, cpu_ms, preempted = zip(*worker.times)
        rows.append({
            "engine": worker.engine, "precision": worker.precision, "min_ms": min(ms), "median_ms": statistics.median(ms),
            "min_cpu_ms": min(cpu_ms), "runs": len(ms), "undisturbed_runs": preempted.count(0),
        } | worker.hello | worker.close() | {"ms": [round(time, 4) for time in ms]})
    if model.name == LOAD_MODEL and threads == 1:
        measure_load(rows, folder, cores, options)
    order = list(failures)
    return {"busy": round(busy, 3), "rows": sorted(rows, key=lambda row: order.index((row["engine"], row["precision"])))}


def measure_load(rows, folder, cores, options):
    for row in rows:
        row["load_ms"] = [row["load_ms"]] if "load_ms" in row else []
    for _ in range(LOAD_STARTS - 1):
        for row in rows:
            if "failed" not in row:
                worker = start((row["engine"], row["precision"]), folder, 1, cores, options.octet)
                if not isinstance(worker, str):
                    row["load_ms"].append(worker.hello["load_ms"])
                    worker.close()


def core_times():
    """core -> (busy, all) in ticks since the machine started."""
    lines = (line.split() for line in pathlib.Path("/proc/stat").read_text().splitlines() if line.startswith("cpu"))
    ticks = {int(name[3:]): list(map(int, numbers)) for name, *numbers in lines if name != "cpu"}
    return {core: (sum(numbers) - numbers[3] - numbers[4], sum(numbers)) for core, numbers in ticks.items()}


def choose_cores(threads, allowed):
    """As many cores as threads, of those that are allowed the most idle; and how busy those are with other work, 0 to 1."""
    allowed = allowed or sorted(os.sched_getaffinity(0))
    if len(allowed) < threads:
        sys.exit(f"bench/peers: error: {threads} threads need as many cores; there are {len(allowed)}")
    before = core_times()
    time.sleep(1)
    after = core_times()
    busy = {core: (after[core][0] - before[core][0]) / max(1, after[core][1] - before[core][1]) for core in allowed}
    cores = sorted(allowed, key=busy.get)[:threads]
    return set(cores), sum(busy[core] for core in cores) / threads


def describe_octet():
    def git(*arguments):
        return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + (" with changes" if git("status", "--porcelain", "-uno") else "")


def has_vnni():
    """Whether the CPU has an 8-bit dot product, which decides on the speed of int8."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    return "avx512_vnni" in flags or "avx_vnni" in flags


def describe_cpu():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.split(': ', 1)[1]}, {os.cpu_count()} cores"
    return "unknown CPU"


def parse_arguments():
    def some_of(choices):
        def parse(text):
            words = text.split(",")
            wrong = [word for word in words if word not in choices]
            if wrong:
                raise argparse.ArgumentTypeError(f"'{wrong[0]}' is not one of {', '.join(choices)}")
            return [choice for choice in choices if choice in words]
        return parse

    def numbers(text):
        return [int(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(prog="bench/peers/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=some_of(list(models.MODELS)), default=list(models.MODELS), help="comma-separated; all by default")
    parser.add_argument("--engines", type=some_of(ENGINES), default=list(ENGINES), help="comma-separated; all by default")
    parser.add_argument("--threads", type=numbers, default=[1, 2], help="comma-separated; 1,2 by default")
    parser.add_argument("--cores", type=numbers, help="which cores may be used, comma-separated")
    parser.add_argument("--runs", type=int, default=60, help="timed runs of each engine; 60 by default")
    parser.add_argument("--fp32-only", action="store_true", help="no int8 models")
    parser.add_argument("--int8-only", action="store_true", help="no fp32 models")
    parser.add_argument("--octet", type=pathlib.Path, default=ROOT / "build" / "release" / "octet_peers_worker",
                        help="octet's worker, for instance of another build")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "release" / "octet",
                        help="the octet that makes its int8 models")
    parser.add_argument("--make-only", action="store_true", help="make the models, measure nothing")
    options = parser.parse_args()
    if not options.octet.exists() and not options.make_only:
        sys.exit(f"bench/peers: error: {options.octet} is missing; bench/peers/run builds it")
    return options


def main():
    options = parse_arguments()
    complete = len(options.engines) == len(ENGINES) and not options.fp32_only and not options.int8_only
    stored = RESULTS / f"peers-{'vnni' if has_vnni() else 'avx2'}.json"
    results = json.loads(stored.read_text()) if complete and stored.exists() else {}
    measured = {}
    for name in options.models:
        model = models.MODELS[name]
        variants = [
            (engine, precision) for precision in model.precisions for engine in options.engines
            if engine in model.engines and (engine, precision) in NEEDS
            and not (precision == "int8" and options.fp32_only) and not (precision == "fp32" and options.int8_only)
        ]
        if not variants:
            continue
        folder, failures = prepare(model, variants, options.program.resolve())
        for variant, reason in failures.items() if options.make_only else ():
            say(f"{name}, {' '.join(variant)}: {reason or 'made'}")
        for threads in () if options.make_only else options.threads:
            group = {
                "model": name, "threads": threads, "cpu": describe_cpu(), "vnni": has_vnni(), "octet": describe_octet(),
                "date": datetime.date.today().isoformat(),
            } | measure(model, threads, folder, failures, options)
            measured[f"{name}/{threads}"] = group
            print(report.group_table(group), flush=True)
            if complete:
                results[f"{name}/{threads}"] = group
                RESULTS.mkdir(exist_ok=True)
                stored.write_text(json.dumps(results, separators=(",", ":")).replace("},", "},\n") + "\n")
                stored.with_suffix(".md").write_text(report.page(results, stored.name))
    if measured:
        print(report.summary(measured))


if __name__ == "__main__":
    main()
