#!/usr/bin/env python3
"""Classifies a folder of JPEGs with `octet infer`, with `octet eval`, and with an ONNX Runtime + Pillow script that decodes ahead.

    make bench-infer                              pictures made of scikit-image's photographs
    bench/infer/run --pictures DIR --rounds 9     made of those in DIR

The network is mobilenet_v3_small in int8: `octet ptq` and ONNX Runtime's quantize_static quantize the same one. Everyone takes the short
side to 256, cuts out the central 224 x 224, and gets the same pixels. The programs take turns, and the best of the rounds counts:
whatever else the machine does makes a round slower, never faster. Writes bench/results/infer.md.
"""

import argparse
import os
import pathlib
import platform
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OCTET = ROOT / "build" / "release" / "octet"
MODEL = "mobilenet_v3_small"
CALIBRATION_PICTURES = 64


def say(text):
    print(f"bench/infer: {text}", file=sys.stderr, flush=True)


def photographs(folder):
    if not folder:
        import importlib.util

        folder = pathlib.Path(importlib.util.find_spec("skimage").origin).parent / "data"
    found = []
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix.lower() in (".jpg", ".jpeg", ".png"):
            picture = Image.open(path)
            if min(picture.size) >= 200:
                found.append(picture.convert("RGB"))
    if not found:
        sys.exit(f"bench/infer: error: no pictures of at least 200 x 200 pixels in {folder}")
    return found


def make_pictures(photos, count, folder):
    """Parts of the photographs, scaled to about 400 x 350 pixels, as JPEGs of quality 90."""
    chance = random.Random(1)
    for i in range(count):
        photo = photos[i % len(photos)]
        part = [side * chance.uniform(0.7, 1) for side in photo.size]
        left, top = (chance.uniform(0, side - kept) for side, kept in zip(photo.size, part))
        size = chance.randint(360, 440), chance.randint(310, 390)
        picture = photo.resize(size, Image.Resampling.BICUBIC, box=(left, top, left + part[0], top + part[1]))
        picture.save(folder / f"{i:05}.jpg", quality=90)
    (folder / "list.txt").write_text("".join(f"{i:05}.jpg {i % 1000}\n" for i in range(count)))


def make_models(octet, work, pictures):
    """The network in int8: work/octet, and work/int8.onnx."""

    def run(command):
        result = subprocess.run(list(map(str, command)), cwd=work, env=os.environ | {"FLAGS_enable_pir_api": "0"},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if result.returncode != 0:
            sys.exit(f"bench/infer: error: {command[1]} failed: {result.stdout.strip()[-1000:]}")

    run([sys.executable, HERE / "make_models.py", MODEL, pictures, CALIBRATION_PICTURES, work])
    run([octet, "ptq", "--model-path", work, "--model-filename", "inference.pdmodel", "--params-filename", "inference.pdiparams",
         "--data-dir", pictures, "--batch-size", 16, "--batch-num", CALIBRATION_PICTURES // 16, "--fast", "--output-dir", work / "octet"])


def measure(command, count):
    """Pictures a second of the whole program, its start included, the CPU time in seconds, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if result.returncode != 0:
        sys.exit(f"bench/infer: error: {command[0]} failed: {result.stderr.strip()}")
    return count / seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result.stdout


def cpu_name():
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else platform.machine()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", help="a folder of photographs")
    parser.add_argument("--count", type=int, default=1000, help="how many JPEGs to make of them")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--work", type=pathlib.Path, help="a folder for pictures and models; what is there from another run is taken")
    parser.add_argument("--make-only", action="store_true", help="make what --work lacks, measure nothing")
    parser.add_argument("--octet", type=pathlib.Path, default=OCTET, help="another program than that of build/release")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of ONNX Runtime; octet takes all cores")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        work = (options.work or pathlib.Path(scratch)).resolve()
        pictures, made = work / "pictures", work / f"made-{options.count}"
        if not made.exists():
            say(f"making {options.count} pictures and two int8 models ...")
            pictures.mkdir(parents=True, exist_ok=True)
            make_pictures(photographs(options.pictures), options.count, pictures)
            make_models(options.octet.resolve(), work, pictures)
            made.touch()
        if options.make_only:
            return
        peer = [sys.executable, HERE / "onnx_side.py", work / "int8.onnx", pictures, options.threads]
        programs = {
            "`octet infer`": [options.octet, "infer", "--model-dir", work / "octet", "--img-path", pictures],
            "`octet infer --batch-size 8`": [options.octet, "infer", "--model-dir", work / "octet", "--img-path", pictures, "--batch-size", "8"],
            "`octet eval`": [options.octet, "eval", "--model-path", work / "octet", "--data-dir", pictures / "list.txt"],
            "ONNX Runtime + Pillow": [*peer, 1, 1],
            "ONNX Runtime + Pillow, batches of 8": [*peer, 8, 1],
            "ONNX Runtime + Pillow, batches of 8, idle threads sleep": [*peer, 8, 0],
        }
        rates = {name: [] for name in programs}
        cpu = {name: [] for name in programs}
        for round in range(options.rounds):
            say(f"round {round + 1} of {options.rounds} ...")
            for name, command in programs.items():
                rate, seconds, said = measure(command, options.count)
                if "infer" in name and said.count("image_name:") != options.count:
                    sys.exit(f"bench/infer: error: {name} did not answer for every picture")
                rates[name].append(rate)
                cpu[name].append(seconds / options.count * 1e3)

    best_peer = max(max(rates[name]) for name in rates if name.startswith("ONNX"))
    least_peer = min(min(cpu[name]) for name in cpu if name.startswith("ONNX"))
    lines = [
        "# Classifying pictures",
        "",
        f"{options.count} JPEGs of about 400 x 350 pixels, {MODEL} in int8, {len(os.sched_getaffinity(0))} cores of {cpu_name()}. "
        f"Whole programs, their start included; best of {options.rounds} rounds, taking turns (`make bench-infer`). "
        "The ratio is to the fastest of the ONNX Runtime scripts. On a machine that is shared with other work the rates fall together; "
        "CPU time suffers less from that.",
        "",
        "| | pictures/s | ratio | CPU ms a picture | ratio |",
        "|---|--:|--:|--:|--:|",
    ]
    for name in programs:
        rate, least = max(rates[name]), min(cpu[name])
        lines.append(f"| {name} | {rate:.0f} | {rate / best_peer:.2f} | {least:.2f} | {least_peer / least:.2f} |")
    page = "\n".join(lines) + "\n"
    (ROOT / "bench" / "results" / "infer.md").write_text(page)
    print(page, end="")


if __name__ == "__main__":
    main()
