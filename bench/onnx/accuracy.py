#!/usr/bin/env python3
"""Quantizes ONNX models that others made with `octet ptq` and default flags: does int8 answer what fp32 answers?

    accuracy.py --octet build/release/octet --pictures DIR [--only TEXT] --json FILE

The models are those of tests/onnx/models.txt, which lie in packages of PyPI. Text recognition and detection see lines and pages that
../ocr/rendered.py renders, the others the pictures of DIR (list.txt has their names), of which two of five are for calibration.
"""

import argparse
import collections
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
sys.path[:0] = [str(HERE), str(HERE.parent / "ocr"), str(HERE.parent / "peers")]
import environments  # noqa: E402
import found  # noqa: E402
import nets  # noqa: E402
import ocr  # noqa: E402
import rendered  # noqa: E402

CALIBRATE = {"lines": 100, "pages": 30}
EVALUATE = {"lines": 200, "pages": 30}


def say(text):
    print(f"bench/onnx: {text}", file=sys.stderr, flush=True)


def to_input(net, picture):
    """A picture as the network's input, without the first dimension."""
    mean, std = (np.float32(part) for part in net.norm)
    if net.layout == "grey":
        return ((np.asarray(picture.convert("L"), np.float32) / 255 - mean[0]) / std[0])[None]
    pixels = np.asarray(picture.convert("RGB"), np.float32) / 255
    if net.layout != "rgb":
        pixels = pixels[:, :, ::-1]
    pixels = (pixels - mean) / std
    return np.ascontiguousarray(pixels if net.layout == "nhwc" else pixels.transpose(2, 0, 1))


def fitted(picture, size):
    """The whole picture, with grey beside or below it."""
    scale = min(size[0] / picture.height, size[1] / picture.width)
    small = picture.convert("RGB").resize((max(1, round(picture.width * scale)), max(1, round(picture.height * scale))), Image.BILINEAR)
    whole = Image.new("RGB", size[::-1], (114, 114, 114))
    whole.paste(small)
    return whole


def made_pictures(net, files, seed, count):
    printer, result = rendered.Printer(files, seed), []
    while len(result) < count:
        if net.kind == "pages":
            result.append(printer.page(net.size[1], net.size[0]))
            continue
        text, picture = printer.line(height=net.size[0])
        if net.latin and not text.isascii():
            continue
        if net.size[1]:
            picture = picture.crop((0, 0, net.size[1], net.size[0]))
        result.append(picture.transpose(Image.ROTATE_180) if net.turned and len(result) % 2 else picture)
    return result


def found_pictures(net, folder, evaluate):
    names = [line.split()[0] for line in (folder / "list.txt").read_text().splitlines()]
    chosen = [name for i, name in enumerate(names) if (i % 5 >= 2) == evaluate]
    if net.kind == "boxes":
        return [fitted(Image.open(folder / name), net.size) for name in chosen]
    return [Image.open(folder / name).convert("RGB").resize(net.size[::-1], Image.BILINEAR) for name in chosen]


def save_batches(net, pictures, folder, batch):
    """Files of arrays, those of one width together; which pictures are in each."""
    groups = collections.defaultdict(list)
    for i, picture in enumerate(pictures):
        groups[picture.size].append(i)
    folder.mkdir()
    batches = []
    for members in groups.values():
        for start in range(0, len(members), batch):
            some = members[start : start + batch]
            np.save(folder / f"{len(batches):03}.npy", np.stack([to_input(net, pictures[i]) for i in some]))
            batches.append(some)
    return batches


def run(program, net, model, folder, batches, outputs):
    """decoded(outputs, i) for each picture."""
    answers = {}
    for number, members in enumerate(batches):
        files = [folder / f"out_{k}.npy" for k in range(outputs)]
        command = [program, "run", "--model", model, "--input", folder / f"{number:03}.npy"]
        for file in files:
            command += ["--output", file]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        arrays = [np.load(file) for file in files]
        for i, picture in enumerate(members):
            answers[picture] = decoded(net, arrays, i)
    return [answers[i] for i in sorted(answers)]


def decoded(net, outputs, i):
    if net.kind == "lines":
        return nets.text_of(outputs, i)
    if net.kind == "pages":
        return outputs[0][i, 0]
    if net.kind == "classes":
        return min((o for o in outputs), key=lambda o: abs(o.shape[-1] - 2))[i] if net.name.startswith("mtcnn") else outputs[0][i]
    return net.decode(outputs, i)


def corners(net, answer):
    """Boxes as rows of coordinates."""
    if net.kind == "pages":
        return [box.ravel() for box in ocr.read_page.find_boxes(answer)]
    return [box[:4] for box in answer]


def judge(net, expected, found):
    if net.kind == "lines":
        same = sum(a == b for a, b in zip(expected, found))
        return {"what": "lines", "count": len(expected), "same": same, "characters": sum(map(len, expected))}
    if net.kind == "classes":
        same = sum(int(a.argmax() == b.argmax()) for a, b in zip(expected, found))
        counts = np.bincount([int(a.argmax()) for a in expected])
        return {"what": "classes", "count": len(expected), "same": same, "most_frequent": int(counts.max())}
    count = near = extra = 0
    distances = []
    for a, b in zip(expected, found):
        left, right = corners(net, a), corners(net, b)
        count += len(left)
        extra += max(0, len(right) - len(left))
        for box in left:
            distance = min((float(np.abs(box - other).max()) for other in right), default=np.inf)
            near += distance <= 2
            distances.append(distance)
    finite = [d for d in distances if np.isfinite(d)]
    return {"what": "boxes", "count": count, "same": near, "extra": extra, "median_pixels": float(np.median(finite)) if finite else 0.0,
            "within_4": sum(d <= 4 for d in distances), "pictures": len(expected)}


def study(net, program, pictures, scratch, flags):
    model = found.model(net)
    if net.input:  # a file that declares another shape is written anew
        subprocess.run([program, "convert", "--model", model, "--input", net.input, "--output", scratch / "fixed.onnx"], check=True, stdout=subprocess.DEVNULL)
        model = scratch / "fixed.onnx"
    if net.kind in ("lines", "pages") or net.turned:
        fonts = rendered.fonts(environments.CACHE / "bench-fonts")
        seeds, kind = ((3, 4), "pages") if net.kind == "pages" else ((1, 2), "lines")
        calibrate, evaluate = (made_pictures(net, fonts, seed, counts[kind]) for seed, counts in zip(seeds, (CALIBRATE, EVALUATE)))
    else:
        calibrate, evaluate = (found_pictures(net, pictures, which) for which in (False, True))
    save_batches(net, calibrate, scratch / "calibrate", 1)
    batches = save_batches(net, evaluate, scratch / "evaluate", net.batch)
    usage = os.times()
    command = [program, "ptq", "--model_path", model, "--data_dir", scratch / "calibrate", "--output_dir", scratch / "int8.onnx", "--batch-num", "0", *flags]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = os.times().children_user + os.times().children_system - usage.children_user - usage.children_system
    import onnx

    outputs = len(onnx.load(model, load_external_data=False).graph.output)
    answers = [run(program, net, which, scratch / "evaluate", batches, outputs) for which in (model, scratch / "int8.onnx")]
    report = json.loads((scratch / "ptq_report.json").read_text())
    return judge(net, *answers) | {"ptq_cpu_seconds": seconds, "layers": len(report["layers"]), "kept_float": len(report["kept_float"]),
                                   "bytes": [model.stat().st_size, (scratch / "int8.onnx").stat().st_size],
                                   "sqnr": [output["sqnr_db"] for output in report["outputs"]][:4]}


def main():
    parser = argparse.ArgumentParser(prog="bench/onnx/accuracy.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--octet", type=pathlib.Path, default=ROOT / "build" / "release" / "octet")
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="networks with this in their name")
    parser.add_argument("--keep", type=pathlib.Path, help="where the files of each network are kept")
    parser.add_argument("--json", type=pathlib.Path, required=True, help="the file of results; rows of networks that are not measured stay")
    parser.add_argument("flags", nargs="*", help="more flags of octet ptq, after --")
    options = parser.parse_args()
    for name, net in nets.NETS.items():
        if options.only and not any(text in name for text in options.only):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            if options.keep:
                folder = options.keep / name.replace(" ", "-")
                subprocess.run(["rm", "-rf", folder], check=True)
                folder.mkdir(parents=True)
            try:
                row = study(net, options.octet.resolve(), options.pictures, folder, options.flags)
            except (RuntimeError, subprocess.CalledProcessError) as error:
                row = {"failed": str(error)[-300:]}
        say(f"{name}: {json.dumps(row)}")
        rows = json.loads(options.json.read_text()) if options.json.exists() else {}
        options.json.write_text(json.dumps(rows | {name: row}, indent=1) + "\n")


if __name__ == "__main__":
    main()
