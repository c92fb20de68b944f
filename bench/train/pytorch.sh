# For the scripts of this folder: PyTorch's Python side, which is not what octet links, and how much memory a command takes.
# PyTorch is the libtorch of `make cuda`: its Python side imports all of the CUDA libraries. What else it imports is small.
tools/setup cuda
torch_packages=$(dirname "$(tools/setup --libtorch-cuda)")
cache=${OCTET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/octet}
hash=$(sha256sum <bench/train/requirements.txt)
torch=$cache/train-bench-${hash:0:12}
if [[ ! -e $torch/complete ]]; then
  python3 -m venv "$torch"
  "$torch/bin/python" -m pip install --quiet --no-deps -r bench/train/requirements.txt
  touch "$torch/complete"
fi

# Runs a command with PyTorch within reach.
with_torch() { PYTHONPATH=$torch_packages "$@"; }
# Runs a command, and writes the largest memory that it had, in MB, to a file.
with_memory() {
  python3 -c 'import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, file=open(sys.argv[1], "a"))
sys.exit(code)' "$@"
}
