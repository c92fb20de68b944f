#!/usr/bin/env python3
"""Makes the models that octet is compared with real Paddle on, all by real Paddle and PaddleSlim.

    make_models.py [OUT_DIR] [--only NAME]...

Without OUT_DIR they go to octet's cache, into a folder named by a hash of the package versions and these scripts, and what is
there already stays. A model is a folder with inference.pdmodel, inference.pdiparams and case.json (what to feed it). Paddle may
crash, so each model is made by a child process, two at a time.
"""

import argparse
import concurrent.futures
import fcntl
import hashlib
import importlib.metadata
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import float_models
import op_models
import ptq_models
import quant_models

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = ("make_models.py", "float_models.py", "op_models.py", "quant_models.py", "ptq_models.py", "pictures.py")
PACKAGES = ("paddlepaddle", "paddleslim", "rapidocr-paddle", "numpy", "pillow", "scikit-image")


def default_folder():
    key = hashlib.sha256()
    for package in PACKAGES:
        key.update(f"{package}=={importlib.metadata.version(package)}\n".encode())
    for script in SCRIPTS:
        key.update((HERE / script).read_bytes())
    cache = os.environ.get("OCTET_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "octet")
    return pathlib.Path(cache) / f"models-{key.hexdigest()[:16]}"


def recipes():
    # The float models first: the quantized ones are made from them.
    return float_models.MODELS | quant_models.MODELS | op_models.MODELS | ptq_models.MODELS


def make_here(name, out_dir):
    """Runs in the child: builds under a temporary name, so an interrupted run leaves nothing that looks complete."""
    folder = out_dir / name
    unfinished = out_dir / f".{name}.{os.getpid()}"
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    case = recipes()[name](name, unfinished)
    (unfinished / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    unfinished.rename(folder)


def make_in_child(name, out_dir):
    # One thread each: two children share two cores, and a fixed thread count keeps Paddle's sums, and so the files, the same.
    environment = os.environ | {"FLAGS_enable_pir_api": "0", "OMP_NUM_THREADS": "1", "GLOG_minloglevel": "2", "PYTHONHASHSEED": "0"}
    command = [sys.executable, str(HERE / "make_models.py"), str(out_dir), "--only", name, "--child"]
    start = time.monotonic()
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    for rest in out_dir.glob(f".{name}.*"):
        shutil.rmtree(rest)
    return name, result, time.monotonic() - start


def ensure(out_dir, names=None, again=False):
    """Makes what is missing; returns the names of those that failed."""
    names = list(names or recipes())
    out_dir.mkdir(parents=True, exist_ok=True)
    with open(out_dir / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        missing = [name for name in names if again or not (out_dir / name / "case.json").exists()]
        failed = []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for wave in ([n for n in missing if n in float_models.MODELS], [n for n in missing if n not in float_models.MODELS]):
                for name, result, seconds in pool.map(lambda name: make_in_child(name, out_dir), wave):
                    print(f"{name}: {'made' if result.returncode == 0 else 'FAILED'} in {seconds:.1f} s", flush=True)
                    if result.returncode != 0:
                        failed.append(name)
                        print("\n".join(result.stdout.splitlines()[-25:]), flush=True)
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out_dir", nargs="?", type=pathlib.Path)
    parser.add_argument("--only", action="append", metavar="NAME", help="make this one (again, if it exists)")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    out_dir = arguments.out_dir or default_folder()
    if arguments.child:
        make_here(arguments.only[0], out_dir)
        return 0
    failed = ensure(out_dir, arguments.only, again=bool(arguments.only))
    print(f"{len(arguments.only or recipes()) - len(failed)} models in {out_dir}" + (f", {len(failed)} failed: {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
