"""Runs ONNX models in octet: many in one process (octet_batch_tool), which is what thousands of small ones need."""
import os
import pathlib
import subprocess

import numpy as np

HELD = ("float32", "int8", "uint8", "int16", "int32", "int64", "bool")  # what octet's tensors are, as in npy files


class Octet:
    """outputs = Octet(folder).run(model_bytes, [array, ...]); a RuntimeError has octet's message."""

    def __init__(self, folder, *flags):
        self.folder = pathlib.Path(folder)
        self.count = 0
        self.tool = subprocess.Popen([os.environ["OCTET_BATCH_TOOL"], *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)

    def close(self):
        self.tool.stdin.close()
        self.tool.wait()
        self.tool.stdout.close()

    def run(self, model, inputs):
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir()
        path = folder / "model.onnx"
        path.write_bytes(model)
        return self.run_file(path, folder, inputs)

    def run_file(self, path, folder, inputs):
        for i, array in enumerate(inputs):
            array = np.asarray(array)
            if array.dtype in (np.float16, np.float64):  # octet computes in float32
                array = array.astype(np.float32)
            if array.dtype.name not in HELD:
                raise RuntimeError(f"octet does not hold {array.dtype}")
            np.save(folder / f"input_{i}.npy", array)
        self.tool.stdin.write(f"{path}\t{folder}\n")
        self.tool.stdin.flush()
        answer = self.tool.stdout.readline().strip()
        if answer != "ok":
            raise RuntimeError(answer.replace(str(path), "model.onnx") or "octet crashed")
        outputs = []
        while (folder / f"output_{len(outputs)}.npy").exists():
            outputs.append(np.load(folder / f"output_{len(outputs)}.npy"))
        return outputs
