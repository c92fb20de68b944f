"""The octet program as the tests drive it: through its command line, as a user does."""

import json
import os
import pathlib
import resource
import subprocess
import tempfile

import numpy as np

PROGRAM = os.environ.get("OCTET_PROGRAM") or str(pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "octet")


def call(*arguments, timeout=120, memory=None):
    """Runs octet; `memory` bounds its address space in bytes, so a large allocation fails instead of succeeding unseen."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))) if memory else None
    return subprocess.run([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=timeout, preexec_fn=limit)


def isas():
    """The names for --isa that work on this machine."""
    return [isa["name"] for isa in json.loads(call("info", "--json").stdout)["isa"] if isa["available"]]


def run(model, inputs, outputs, threads=1, isa=None):
    """`octet run`: feeds the arrays `inputs` (name -> array), returns the tensors `outputs` (name -> array)."""
    with tempfile.TemporaryDirectory(prefix="octet-parity-") as folder:
        arguments = ["run", "--model", model, "--threads", threads, *(["--isa", isa] if isa else [])]
        for i, (name, value) in enumerate(inputs.items()):
            np.save(f"{folder}/in{i}.npy", value)
            arguments += ["--input", f"{name}={folder}/in{i}.npy"]
        for i, name in enumerate(outputs):
            arguments += ["--output", f"{name}={folder}/out{i}.npy"]
        result = call(*arguments, timeout=600)
        if result.returncode != 0:
            raise AssertionError(f"octet run --model {model}: exit code {result.returncode}\n{result.stderr[-2000:]}")
        return {name: np.load(f"{folder}/out{i}.npy") for i, name in enumerate(outputs)}


def convert(model, folder, format="paddle"):
    result = call("convert", "--model", model, "--output", folder, "--format", format)
    if result.returncode != 0:
        raise AssertionError(f"octet convert --model {model}: exit code {result.returncode}\n{result.stderr[-2000:]}")
