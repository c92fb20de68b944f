#!/usr/bin/env python3
"""Writes bench/results/onnx.md of what accuracy.py and runtimes.py have measured."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import main as peers  # noqa: E402
import report  # noqa: E402

RESULTS = HERE.parent / "results"
LEAST = {"lines": 0.97, "classes": 0.97, "boxes": 0.95}


def load(name):
    file = RESULTS / f"onnx-{name}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def accuracy_row(name, row):
    if "failed" in row:
        return [name, "", f"failed: {row['failed']}", "", "", "", ""]
    share = row["same"] / max(1, row["count"])
    more = {"classes": lambda: f"fp32's most frequent class: {row['most_frequent']}", "lines": lambda: f"{row['characters']} characters",
            "boxes": lambda: f"within 4 pixels: {row['within_4'] / max(1, row['count']):.1%}"}[row["what"]]()
    return [name, f"{row['count']} {row['what']}", f"{share:.1%}", f"{LEAST[row['what']]:.0%}", more, f"{row['kept_float']}",
            f"{row['bytes'][0] / 1e6:.1f} / {row['bytes'][1] / 1e6:.1f}"]


def runtimes_section(name, row):
    lines = [f"## {name} in ONNX Runtime and OpenVINO, with their optimizations", ""]
    if "views" in row:
        lines += [report.table(["", "the answer that octet gives:", "the answer of fp32:"],
                               [["octet", "", f"{row['octet_as_fp32']:.2%}"]] +
                               [[title, f"{row[key + '_as_octet']:.2%}", f"{row[key + '_as_fp32']:.2%}"] for key, title in
                                (("ort", "ONNX Runtime"), ("openvino", "OpenVINO"))]),
                  f"Of {row['views']} views. The file has {row['layers']} layers, {row['float_on_purpose']} of them in float on purpose; in integers run "
                  f"{row['ort_layers'][0]} in ONNX Runtime and {row['ov_layers'][0]} in OpenVINO.", ""]
    if "ms" in row:
        ms = row["ms"]
        lines += ["Milliseconds of one picture on one thread, the least of runs that took turns:", "",
                  report.table(["", "octet's file:", "its own tool's:", "fp32:"],
                               [[title, *(f"{ms[key + part]:.2f}" for part in ("_octet", "_own", "_fp32"))] for key, title in
                                (("ort", "ONNX Runtime (quantize_static)"), ("ov", "OpenVINO (NNCF)"))])]
    return "\n".join(lines)


def speed_row(name, row):
    if "failed" in row:
        return [name, "", f"failed: {row['failed']}", "", "", "", "", ""]
    return [name, row["shape"], *(f"{row[key]:.2f}" if key in row else "" for key in ("octet", "octet_int8", "ort", "openvino", "fp32_ratio", "int8_ratio"))]


def main():
    parts = [f"# ONNX models in int8\n\nWritten by `make bench-onnx` from onnx-accuracy.json and onnx-runtimes.json. CPU: {peers.describe_cpu()}.\n",
             "## Models that others made\n\n`octet ptq` with default flags: how often int8 answers what fp32 answers. Text recognition and detection see lines "
             "and pages that are rendered, the others ImageNet's pictures, none of them calibrated with. Boxes count where all corners are within 2 pixels.\n",
             report.table(["", "of", "the same:", "goal:", "", "layers in float:", "MB, fp32 / int8:"],
                          [accuracy_row(name, row) for name, row in load("accuracy").items()])]
    parts += [runtimes_section(name, row) for name, row in load("runtimes").items()]
    if speed := load("speed"):
        parts.append("## Speed of these models\n\nMilliseconds on one thread, the least of runs that took turns (speed.py), and octet's time as a part of the "
                     "faster peer's in fp32. Other work ran on the machine, so a ratio can be far off: a second run gave open-nsfw 0.87.\n\n" +
                     report.table(["", "input", "octet fp32:", "octet int8:", "ONNX Runtime fp32:", "OpenVINO fp32:", "fp32 ratio:", "int8 ratio:"],
                                  [speed_row(name, row) for name, row in speed.items()]))
    (RESULTS / "onnx.md").write_text("\n".join(parts).rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
