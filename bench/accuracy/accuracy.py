#!/usr/bin/env python3
"""Quantizes the same networks with octet, ONNX Runtime, NNCF and PaddleSlim, from the same pictures, and writes bench/results/accuracy.md.

    make bench-accuracy PICTURES=DIR              everything; an hour at first (PaddleSlim's KL), then what peers made is kept
    bench/accuracy/run --pictures DIR --only lite0     a part: lite0, fashion, auto, planted or ptq

DIR has list.txt with a line "file label" for each picture, labels being ImageNet's classes. Of five consecutive lines the first two
are for calibration, the others for evaluation.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "peers"))
import auto  # noqa: E402
import environments  # noqa: E402
import main as peers  # noqa: E402
import planted  # noqa: E402
import quantize  # noqa: E402
import report  # noqa: E402
import timing  # noqa: E402

OCTET = {
    "octet": [],
    "octet, fast": ["--fast"],
    "octet, auto, deploy paddle": ["--deploy", "paddle"],
} | {f"octet, {algo}": ["--algo", algo] for algo in ("KL", "hist", "mse", "emd", "avg", "abs_max", "ptf")}
PARTS = ("lite0", "fashion", "auto", "planted", "ptq")
FASHION = ("octet", "octet, fast", "octet, auto, deploy paddle", "octet, hist", "PaddleSlim, hist", "PaddleSlim, mse", "PaddleSlim, avg")


def say(text):
    print(f"bench/accuracy: {text}", file=sys.stderr, flush=True)


def key_of(*parts):
    key = hashlib.sha256(environments.pins_hash("engines").encode())
    for part in parts:
        key.update(part if isinstance(part, bytes) else part.read_bytes())
    return key.hexdigest()[:12]


def child(script, *arguments):
    """Runs a script of this folder; what it prints is only shown when it fails."""
    environment = os.environ | {"FLAGS_enable_pir_api": "0", "GLOG_minloglevel": "2", "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run([sys.executable, HERE / script, *map(str, arguments)], cwd=scratch, env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace")
    if result.returncode != 0:
        raise RuntimeError(peers.last_line(result.stdout))


def made(folder, make):
    """`folder`, made by make(folder) unless it is there; an interrupted run leaves nothing that looks complete."""
    if not folder.exists():
        unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
        unfinished.mkdir(parents=True)
        try:
            make(unfinished)
            unfinished.rename(folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def network_folder(name, pictures):
    parts = [HERE / "nets.py", HERE.parent / "peers" / "networks.py"] + ([pictures / "list.txt"] if pictures else [])

    def make(folder):
        say(f"{name}: making it and its pictures ...")
        child("nets.py", name, folder, *([pictures] if pictures else []))

    return made(environments.CACHE / f"accuracy-{name}-{key_of(*parts)}", make)


def planted_folder(name):
    parts = [HERE / "planted.py", HERE.parent / "peers" / "networks.py"]
    return made(environments.CACHE / f"planted-{name}-{key_of(*parts)}", lambda folder: child("planted.py", name, folder))


def peer_model(variant, network):
    """The folder of a peer's int8 model, and the file with its answers or None: octet runs PaddleSlim's."""
    def make(folder):
        say(f"{network.name}: {variant} ...")
        child("quantize.py", variant, network, folder)

    name = "".join(c if c.isalnum() else "-" for c in variant)
    folder = made(network / f"{name}-{key_of(HERE / 'quantize.py')}", make)
    if variant.startswith("PaddleSlim"):
        return folder, None
    answers = folder / f"answers-{key_of(HERE / 'answers.py')}.npy"
    if not answers.exists():
        child("answers.py", folder, network, answers)
    return folder, answers


def octet_answers(program, model, network, out):
    """All views through octet's runtime, some pictures at a time."""
    answers = []
    for file in sorted(network.glob("views_*.npy")):
        view, parts = np.load(file, mmap_mode="r"), []
        count = max(50, 30_000_000 // view[0].nbytes)
        for start in range(0, len(view), count):
            np.save(out / "x.npy", view[start : start + count])
            subprocess.run([program, "run", "--model", model, "--input", out / "x.npy", "--output", out / "y.npy"], check=True,
                           stdout=subprocess.DEVNULL)
            parts.append(np.load(out / "y.npy"))
        answers.append(np.concatenate(parts))
    return np.stack(answers)


def size(folder):
    return sum(f.stat().st_size for f in folder.iterdir() if f.suffix in (".onnx", ".xml", ".bin", ".pdmodel", ".pdiparams") or f.name.startswith("__"))


def judge(answers, reference, labels):
    """How good the answers (views, pictures, classes) are; labels are those of the pictures, the first view of which is unchanged."""
    def softmax(x):
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    answers, reference = answers.astype(np.float64), reference.astype(np.float64)
    best = np.argsort(-answers[0], -1, kind="stable")  # of equal answers the first, as argmax has it
    p, q = softmax(reference), softmax(answers)
    same = answers.argmax(-1) == reference.argmax(-1)
    cosine = (answers * reference).sum(-1) / np.linalg.norm(answers, axis=-1) / np.linalg.norm(reference, axis=-1)
    return {"top1": float(np.mean(best[:, 0] == labels)), "top5": float(np.mean((best[:, :5] == labels[:, None]).any(1))),
            "agreement": float(same[0].mean()), "agreement_views": float(same.mean()), "pictures": labels.size, "views": same.size,
            "cosine": float(cosine.mean()), "divergence": float((p * (np.log(p + 1e-12) - np.log(q + 1e-12))).sum(-1).mean())}


def compare(name, network, variants, program):
    """A row for each variant."""
    labels, rows = np.load(network / "truth.npy"), []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        reference = octet_answers(program, network, network, scratch)
        rows.append({"name": "fp32", "bytes": (network / "inference.pdiparams").stat().st_size + (network / "inference.pdmodel").stat().st_size}
                    | judge(reference, reference, labels))
        for variant in variants:
            try:
                if variant in OCTET:
                    say(f"{name}: {variant} ...")
                    folder, stored = scratch / "int8", None
                    start = time.monotonic()
                    subprocess.run([program, "ptq", "--model_path", network, "--data_dir", network / "calibrate.npy", "--output_dir", folder,
                                    *OCTET[variant]], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    seconds = time.monotonic() - start
                else:
                    folder, stored = peer_model(variant, network)
                    seconds = float((folder / "seconds").read_text())
                answers = np.load(stored) if stored else octet_answers(program, folder, network, scratch)
                rows.append({"name": variant, "bytes": size(folder), "seconds": seconds} | judge(answers, reference, labels))
            except (RuntimeError, subprocess.CalledProcessError) as error:
                reason = peers.last_line(error.stderr or "") if isinstance(error, subprocess.CalledProcessError) else str(error)
                rows.append({"name": variant, "failed": reason})
            say(f"{name}: {json.dumps(rows[-1])}")
    return rows


def accuracy_table(rows):
    lines = []
    for row in rows:
        if "failed" in row:
            lines.append([row["name"]] + [""] * 7 + [f"failed: {row['failed']}"])
            continue
        lines.append([row["name"], f"{row['top1']:.2%}", f"{row['top5']:.2%}", f"{row['agreement']:.2%}", f"{row['agreement_views']:.2%}",
                      f"{row['cosine']:.5f}", f"{row['divergence']:.5f}", f"{row['bytes'] / 1e6:.2f}",
                      f"{row['seconds']:.1f}" if "seconds" in row else ""])
    return report.table(["", "top-1:", "top-5:", "agreement:", "agreement, all views:", "cosine:", "KL divergence:", "MB:", "seconds:"], lines)


def best_rows(rows):
    """octet's default and the best of each peer, by agreement over all views and then by divergence."""
    groups = {}
    for row in rows:
        if "failed" not in row:
            groups.setdefault(row["name"].split(",")[0], []).append(row)
    return [row for name in ("fp32", "octet") for row in groups.get(name, [])[:2]] + \
        [min(group, key=lambda row: (-row["agreement_views"], row["divergence"])) for name, group in groups.items() if name not in ("fp32", "octet")]


def page(results):
    parts = ["# Accuracy of int8 models\n\nWritten by `make bench-accuracy`; accuracy.json has the numbers.\n",
             "Peers' models, and the seconds they took, are kept from run to run. Seconds on a busy machine say little.\n",
             *(f"{part} was measured on: {origin}.\n" for part, origin in results["origins"].items())]
    if "lite0" in results:
        rows = results["lite0"]
        views, pictures = rows[0]["views"], rows[0]["pictures"]
        parts.append(
            f"## EfficientNet-Lite0 with its ImageNet weights\n\nCalibrated on 100 pictures, evaluated on {pictures} others. Agreement is how often a "
            f"model's first answer is that of fp32, on the {pictures} pictures and on {views} views (each picture as it is, flipped, enlarged, and cut "
            "out at the corners, flipped or not); cosine and KL divergence, of logits and of probabilities from fp32's, are means over all views. "
            "octet's and PaddleSlim's models run in octet (whose integers are Paddle's; tests/paddle), the others in ONNX Runtime and OpenVINO without "
            "their int8 kernels, which saturate on CPUs without VNNI, so that a file is judged by what it says. Seconds are for quantizing alone with everything loaded; octet's are of the "
            "whole program.\n\n### octet and the best of each peer\n\n" + accuracy_table(best_rows(rows)) + "\n### All\n\n" + accuracy_table(rows))
    if "fashion" in results:
        parts.append("## mobilenet_v3_small on Fashion-MNIST\n\npaddle.vision's network, trained for some minutes on 48x48 pictures; evaluated on the "
                     "10,000 of the test set.\n\n" + accuracy_table(results["fashion"]))
    if "auto" in results:
        parts.append(auto.section(results["auto"]))
    if "planted" in results:
        parts.append(planted.section(results["planted"]))
    if "ptq" in results:
        parts.append(timing.section(results["ptq"]))
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(prog="bench/accuracy/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=pathlib.Path, help="a folder with list.txt; needed for lite0 and auto")
    parser.add_argument("--only", choices=PARTS, action="append", help="a part; may be repeated")
    parser.add_argument("--keep-peers", action="store_true", help="lite0: measure octet's rows alone; those of the others stay as they are")
    parser.add_argument("--paddle-images", type=int, default=320, help="how many PaddleSlim's KL is timed with: 320 take half an hour")
    parser.add_argument("--octet", type=pathlib.Path, default=ROOT / "build" / "release" / "octet", help="for instance of another build")
    options = parser.parse_args()
    wanted = options.only or list(PARTS)
    if not options.pictures and {"lite0", "auto"} & set(wanted):
        sys.exit("bench/accuracy: error: --pictures DIR is missing: a folder of labelled pictures with list.txt; or --only fashion, --only planted, --only ptq")
    stored = ROOT / "bench" / "results" / "accuracy.json"  # the parts that were not asked for stay
    before = json.loads(stored.read_text()) if stored.exists() else {}
    results, origins = {}, {}
    busy = os.getloadavg()[0]
    origin = f"{peers.describe_cpu()}; octet {peers.describe_octet()}, {time.strftime('%Y-%m-%d')}; other work took {busy:.1f} cores at the start"
    if "lite0" in wanted:
        network = network_folder("efficientnet_lite0", options.pictures.resolve())
        variants = [*OCTET] if options.keep_peers else [*OCTET, *quantize.IMAGENET]
        results["lite0"] = compare("efficientnet_lite0", network, variants, options.octet)
        if options.keep_peers:
            results["lite0"] += [row for row in before.get("lite0", []) if row["name"] in quantize.IMAGENET]
            origins["lite0, octet's rows"] = origin
    if "fashion" in wanted:
        results["fashion"] = compare("fashion", network_folder("fashion", None), FASHION, options.octet)
    if "auto" in wanted:
        folders = {"efficientnet_lite0": network_folder("efficientnet_lite0", options.pictures.resolve())}
        folders |= {name: network_folder(name, None) for name in ("fashion_mobilenet_v3_small", "fashion_mobilenet_v2", "fashion_resnet18")}
        results["auto"] = []
        for name, folder in folders.items():
            with tempfile.TemporaryDirectory() as scratch:
                results["auto"] += auto.measure(options.octet, name, folder, pathlib.Path(scratch), octet_answers, say)
    if "planted" in wanted:
        with tempfile.TemporaryDirectory() as scratch:
            results["planted"] = planted.measure(options.octet, planted_folder, pathlib.Path(scratch), say)
    if "ptq" in wanted:
        results["ptq"] = timing.measure(network_folder("mobilenet_v3_small", None), options.octet, options.paddle_images, say)
    kept = {"lite0"} if options.keep_peers else set()
    results["origins"] = origins | {part: origin for part in wanted if part not in kept}
    results = before | results | {"origins": before.get("origins", {}) | results["origins"]}
    stored.parent.mkdir(exist_ok=True)
    stored.write_text(json.dumps(results, indent=1) + "\n")
    (stored.parent / "accuracy.md").write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
