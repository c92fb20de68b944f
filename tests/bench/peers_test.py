"""The tables of bench/peers, and what it does with engines that fail."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
import main  # noqa: E402
import models  # noqa: E402
import report  # noqa: E402
import steps  # noqa: E402


def row(engine, precision, ms):
    return {"engine": engine, "precision": precision, "version": "1.0-abc", "cosine": 0.9999, "min_ms": ms, "median_ms": ms * 1.5, "min_cpu_ms": ms,
            "runs": 60, "undisturbed_runs": 50, "load_ms": [40.0, 30.0, 35.0], "peak_bytes": 200e6, "process_peak_bytes": 300e6}


def group(model, threads, rows):
    return {"model": model, "threads": threads, "cpu": "some CPU, 2 cores", "octet": "1234567", "date": "2026-01-01", "busy": 0.0, "rows": rows}


GROUPS = {
    "resnet50/1": group("resnet50", 1, [row("octet", "fp32", 90), row("mnn", "fp32", 80), row("ort", "int8", 50), row("octet", "int8", 42)]),
    "mobilenet_v3_small/1": group("mobilenet_v3_small", 1, [
        row("octet", "fp32", 1.5), row("ort", "fp32", 2.0), row("ncnn", "fp32", 3.0), row("octet", "int8", 1.9), row("ort", "int8", 2.5),
        {"engine": "openvino", "precision": "int8", "failed": "it would not"}]),
}


class Tables(unittest.TestCase):
    def test_ratio_is_to_the_best_peer(self):
        lines = report.summary(GROUPS).splitlines()
        cells = {tuple(line.split(" | ")[0:2]): line.split(" | ") for line in lines[2:]}
        self.assertEqual(cells["| resnet50", "fp32"][4:10], ["MNN fp32", "80.00", "**1.12**", "0.92", "0.85", "not reached"])
        self.assertEqual(cells["| resnet50", "int8"][4:10], ["ONNX Runtime int8", "50.00", "**0.84**", "0.86", "0.82", "reached"])
        self.assertEqual(cells["| mobilenet_v3_small", "fp32"][4:10], ["ONNX Runtime fp32", "2.00", "**0.75**", "0.85", "0.75", "goal reached"])
        # For int8 a peer may be the faster in fp32.
        self.assertEqual(cells["| mobilenet_v3_small", "int8"][4:7], ["ONNX Runtime fp32", "2.00", "**0.95**"])

    def test_page_has_all_parts(self):
        page = report.page(GROUPS, "peers-avx2.json")
        for text in ("some CPU, 2 cores; octet 1234567, 2026-01-01", "ONNX Runtime 1.0,", "| OpenVINO | int8 |  |  |  |  | failed: it would not |",
                     "| octet | fp32 | 30 | 35 |", "| MNN | fp32 | 200 | 300 |"):
            self.assertIn(text, page)
        self.assertLess(page.index("### mobilenet_v3_small, 1 thread"), page.index("### resnet50, 1 thread"))
        self.assertNotIn("Other programs", page)
        busy = dict(GROUPS, **{"resnet50/1": GROUPS["resnet50/1"] | {"busy": 0.4}})
        self.assertIn("Other programs used 40% of the core(s)", report.page(busy, "peers-avx2.json"))

    def test_every_model_has_its_numbers(self):
        for model in models.MODELS.values():
            for precision in model.precisions:
                self.assertLessEqual(model.goal[precision], model.required[precision])
                self.assertTrue(all((engine, "fp32") in main.NEEDS for engine in model.engines))
        self.assertTrue(all(step in steps.STEPS for step in main.NEEDS.values()))


class Workers(unittest.TestCase):
    def start(self, script):
        with tempfile.TemporaryDirectory() as folder:
            worker = pathlib.Path(folder) / "worker"
            worker.write_text(f"#!/bin/sh\n{script}\n")
            worker.chmod(0o755)
            return main.start(("octet", "fp32"), pathlib.Path(folder), 1, main.os.sched_getaffinity(0), worker)

    def test_protocol(self):
        hello = json.dumps({"version": "1", "cosine": 1.0, "load_ms": 5, "loaded_bytes": 1})
        worker = self.start(f"echo '{hello}'; while read n; do echo \"[[$n, 1, 0]]\"; done; echo '{{\"peak_bytes\": 7}}'")
        self.assertEqual(worker.hello["load_ms"], 5)
        self.assertEqual(worker.run(3), [[3, 1, 0]])
        self.assertEqual(worker.close(), {"peak_bytes": 7})

    def test_failures_are_reasons(self):
        self.assertEqual(self.start("echo 'no such | op' >&2; exit 1"), "no such / op")
        self.assertEqual(self.start("exit 1"), "it ended without a word")
        hello = json.dumps({"version": "1", "cosine": 0.5, "load_ms": 5, "loaded_bytes": 1})
        self.assertIn("wrong result", self.start(f"echo '{hello}'; read n"))


class Conversion(unittest.TestCase):
    def test_resize_becomes_interp(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "pnnx.param").write_text("Resize  Resize_9  1 1 a b mode=linear roi=() scales=() sizes=(1,19,512,256)\n")
            (folder / "ncnn.param").write_text("ReLU  relu_1  1 1 z a\nResize                   Resize_9                1 1 a b\n")
            steps.resize_to_interp(folder)
            self.assertEqual((folder / "ncnn.param").read_text(), "ReLU  relu_1  1 1 z a\nInterp Resize_9 1 1 a b 0=2 3=512 4=256\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
