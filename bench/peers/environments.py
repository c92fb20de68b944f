"""The virtual environments of this benchmark, kept outside the clone under the hash of their pins, like tools/setup keeps its own.

A changed pin makes a new environment; deleting the folder is safe.
"""

import fcntl
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("OCTET_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "octet")
PINS = {
    "engines": ("requirements.txt", "../../tools/requirements.txt"),
    "paddle-2.6": ("requirements-paddle-2.6.txt",),
}


def say(text):
    print(f"bench/peers: {text}", file=sys.stderr, flush=True)


def pins_hash(name):
    key = hashlib.sha256(f"{sys.version_info[:2]} {platform.machine()}".encode())
    for file in PINS[name]:
        key.update((HERE / file).read_bytes())
    return key.hexdigest()[:12]


def environment_python(name):
    """The Python of an environment, which is installed when it is missing."""
    folder = CACHE / f"peers-{name}-{pins_hash(name)}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "peers.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "complete").exists():
            return python
        say(f"installing {', '.join(PINS[name][:1])} into {folder} (pip, some minutes) ...")
        shutil.rmtree(folder, ignore_errors=True)
        log = CACHE / "peers-setup.log"
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
                   "--ignore-requires-python", "-r", HERE / PINS[name][0]]
        with open(log, "w") as output:
            for command in ([sys.executable, "-m", "venv", folder], install):
                if subprocess.run(command, stdout=output, stderr=subprocess.STDOUT).returncode != 0:
                    sys.exit(f"bench/peers: error: {command[2]} failed; see {log}")
        (folder / "complete").touch()
    return python


if __name__ == "__main__":
    print(environment_python(sys.argv[1]))
