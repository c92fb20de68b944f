#!/usr/bin/env python3
"""Bad input is answered with one line and exit code 2: no crash, no hang, no large allocation.

The unit tests sweep the readers in full; here the whole program gets damaged copies of a real model.
"""

import pathlib
import shutil
import struct
import tempfile

import numpy as np

import collection
import octet_side

MEMORY = 1 << 30  # address space, far above what the small models need
SEED = 20


def varint(value):
    out = bytearray()
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def field(number, value):
    """One protobuf field: an integer, or bytes, text or a list of fields as its length and content."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else b"".join(value) if isinstance(value, list) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def variable(name, kind, dims=()):
    tensor = [field(1, 5)] + [field(2, dim) for dim in dims]
    return field(3, [field(1, name), field(2, [field(1, kind)] + ([field(3, [field(1, tensor)])] if kind == 7 else []))])


def op(kind, inputs, outputs, attrs=()):
    slots = [field(1, [field(1, s), field(2, n)]) for s, n in inputs] + [field(2, [field(1, s), field(2, n)]) for s, n in outputs]
    return field(4, slots + [field(3, kind)] + [field(4, a) for a in attrs])


def filling_program(shape):
    """A program that fills a tensor of this shape and returns it."""
    attrs = ([field(1, "shape"), field(2, 11)] + [field(15, dim & (1 << 64) - 1) for dim in shape], [field(1, "dtype"), field(2, 0), field(3, 5)])
    ops = [op("feed", [("X", "feed")], [("Out", "x")], ([field(1, "col"), field(2, 0), field(3, 0)],)),
           op("fill_constant", [], [("Out", "y")], attrs),
           op("fetch", [("X", "y")], [("Out", "fetch")], ([field(1, "col"), field(2, 0), field(3, 0)],))]
    variables = [variable("feed", 9), variable("fetch", 10), variable("x", 7, [1]), variable("y", 7, shape if min(shape) > 0 else [1])]
    return field(1, [field(1, 0), field(2, (1 << 64) - 1)] + variables + ops)


def block_end(program):
    """Where the first block ends; a program cut before it can't be whole."""
    length = shift = 0
    for i, byte in enumerate(program[1:], 1):
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return i + 1 + length
    raise AssertionError("no block")


class BadInputTest(collection.PaddleTestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="octet-parity-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.x = self.save("x.npy", np.zeros([1, 3, 32, 32], np.float32))

    def save(self, name, value):
        np.save(self.folder / name, value)
        return self.folder / name

    def copy(self, model):
        copy = self.folder / model
        shutil.copytree(collection.FOLDER / model, copy)
        return copy, copy / "inference.pdmodel", copy / "inference.pdiparams"

    def run_model(self, model, *inputs):
        return octet_side.call("run", "--model", model, *(a for i in inputs or (self.x,) for a in ("--input", i)), "--output", self.folder / "y.npy",
                               timeout=30, memory=MEMORY)

    def check_error(self, result, *parts, codes=(2,)):
        """One line, exit code 2, and it names the thing."""
        self.assertIn(result.returncode, codes, result.stderr[-500:])
        if result.returncode == 2:
            self.assertRegex(result.stderr, r"\Aoctet: error: [^\n]+\n\Z")
            self.assertNotIn("bad_alloc", result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_a_good_model_is_accepted(self):
        for model in ("small", "small_kl_onnx", "small_kl_old"):
            copy, program, _ = self.copy(model)
            self.assertEqual(self.run_model(copy).returncode, 0)
            self.assertEqual(self.run_model(program).returncode, 0)

    def test_truncated(self):
        for model in ("small", "small_kl_onnx"):
            copy, program, params = self.copy(model)
            for file, end in ((program, block_end(program.read_bytes())), (params, params.stat().st_size)):
                content = file.read_bytes()
                sizes = list(range(0, end, 64))
                for size in sizes[:: max(1, len(sizes) // 60)]:
                    with self.subTest(file=file.name, size=size):
                        file.write_bytes(content[:size])
                        self.check_error(self.run_model(copy))
                file.write_bytes(content + b"\0")
                if file == params:
                    self.check_error(self.run_model(copy), file.name)
                file.write_bytes(content)

    def test_flipped_bytes(self):
        rng = np.random.default_rng(SEED)
        for model in ("small", "small_kl_old", "op_shapes"):
            copy, program, params = self.copy(model)
            x = self.save("s.npy", np.zeros([1, 4, 6, 3], np.float32)) if model == "op_shapes" else self.x
            for file in (program, params):
                content = file.read_bytes()
                for trial in range(60 if file == program else 15):
                    damaged = bytearray(content)
                    for at in rng.integers(0, len(content), rng.integers(1, 4)):
                        damaged[at] ^= 1 << int(rng.integers(0, 8))
                    file.write_bytes(damaged)
                    with self.subTest(file=file.name, trial=trial):
                        # A flipped weight or name may well leave a good model.
                        self.check_error(self.run_model(copy, x), codes=(0, 2))
                file.write_bytes(content)

    def test_unknown_op(self):
        copy, program, _ = self.copy("small")
        program.write_bytes(program.read_bytes().replace(b"\x1a\nbatch_norm", b"\x1a\nbatch_gnom"))  # field 3, ten bytes: the type
        self.check_error(self.run_model(copy), "batch_gnom")
        self.assertEqual(octet_side.call("info", copy).returncode, 0)

    def test_missing_files(self):
        copy, program, params = self.copy("small")
        self.check_error(self.run_model(self.folder / "nothing"), "nothing")
        self.check_error(self.run_model(self.x), "x.npy")
        self.check_error(self.run_model(copy, self.folder / "no.npy"), "no.npy")
        shutil.copyfile(program, copy / "second.pdmodel")
        self.assertEqual(self.run_model(copy).returncode, 0)  # inference.* comes first
        program.rename(copy / "first.pdmodel")
        self.check_error(self.run_model(copy), "first.pdmodel", "second.pdmodel")
        (copy / "second.pdmodel").unlink()
        self.check_error(self.run_model(copy), "first.pdiparams")
        (copy / "first.pdmodel").unlink()
        self.check_error(self.run_model(copy), copy.name)
        for command in ("info", "run", "convert", "infer"):
            self.check_error(octet_side.call(command, "--no-such-flag"), "--no-such-flag")

    def test_unwritable_output(self):
        result = octet_side.call("run", "--model", collection.FOLDER / "small", "--input", self.x, "--output", self.folder / "no" / "y.npy")
        self.check_error(result, "y.npy")
        self.check_error(octet_side.call("convert", "--model", collection.FOLDER / "small", "--output", self.x), "x.npy")

    def test_wrong_inputs(self):
        small = collection.FOLDER / "small"
        for name, value in (
                ("int64", np.zeros([1, 3, 32, 32], np.int64)), ("float64", np.zeros([1, 3, 32, 32])), ("channels", np.zeros([1, 4, 32, 32], np.float32)),
                ("rank", np.zeros([3, 32, 32], np.float32)), ("scalar", np.float32(1)), ("empty", np.zeros([0, 3, 32, 32], np.float32)),
                ("tiny", np.zeros([1, 3, 0, 32], np.float32)), ("text", np.array(["a"])), ("complex", np.zeros([1, 3, 32, 32], np.complex64))):
            with self.subTest(input=name):
                # An empty batch may be computed or refused; the rest must be refused.
                self.check_error(self.run_model(small, self.save("bad.npy", value)), codes=(0, 2) if name == "empty" else (2,))
        self.check_error(self.run_model(small, f"nothing={self.x}"), "nothing")
        self.check_error(self.run_model(small, self.x, self.x))
        self.check_error(octet_side.call("run", "--model", small, "--input", self.x, "--output", f"nothing={self.folder}/y.npy"), "nothing")

    def test_broken_npy(self):
        small = collection.FOLDER / "small"
        good = self.x.read_bytes()
        bad = self.folder / "bad.npy"
        header = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}"
        contents = [good[:size] for size in (0, 5, 9, 10, 60, 128, len(good) - 1)]
        for descr, shape in (("<f4", "(1099511627776, 3, 32, 32)"), ("<f4", "(4294967296, 4294967296, 4294967296, 1)"), ("<f4", "(-1, 3, 32, 32)"),
                             ("<f4", "(1, 3, 32,"), ("|O", "(1, 3, 32, 32)"), (">f4", "(1, 3, 32, 32"), ("<f4", "(1, " * 2000)):
            text = header.format(descr, shape).encode()
            contents.append(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n" + bytes(1 * 3 * 32 * 32 * 4))
        contents.append(b"\x93NUMPY\x02\x00" + struct.pack("<I", 0xFFFFFFF0) + b"{}")
        for i, content in enumerate(contents):
            with self.subTest(content=i):
                bad.write_bytes(content)
                self.check_error(self.run_model(small, bad), "bad.npy")

    def test_absurd_parameters(self):
        copy, _, params = self.copy("small")
        content = params.read_bytes()
        # The first record: u32 version, u64 LoD levels, u32 version, i32 length of the tensor's description.
        (length,) = struct.unpack_from("<i", content, 16)
        rest = content[20 + length:]
        huge = b"\x08\x05" + b"\x10" + varint(1 << 40) + b"\x10" + varint(1 << 40)
        negative = b"\x08\x05" + b"\x10" + varint((1 << 64) - 5)
        for name, damaged in (
                ("levels", content[:4] + struct.pack("<Q", 1 << 60) + content[12:]),
                ("level size", content[:4] + struct.pack("<QQ", 1, 1 << 62) + content[12:]),
                ("length", content[:16] + struct.pack("<i", -1) + content[20:]),
                ("long", content[:16] + struct.pack("<i", 0x7FFFFFFF) + content[20:]),
                ("huge", content[:16] + struct.pack("<i", len(huge)) + huge + rest),
                ("negative", content[:16] + struct.pack("<i", len(negative)) + negative + rest)):
            with self.subTest(name):
                params.write_bytes(damaged)
                self.check_error(self.run_model(copy), params.name)

    def test_absurd_tensor(self):
        model = self.folder / "fill"
        model.mkdir()
        (model / "inference.pdiparams").write_bytes(b"")
        x = self.save("one.npy", np.zeros([1], np.float32))
        (model / "inference.pdmodel").write_bytes(filling_program([2, 3]))
        self.assertEqual(self.run_model(model, x).returncode, 0, "the program itself should be fine")
        self.assertEqual(np.load(self.folder / "y.npy").shape, (2, 3))
        for shape in ([1 << 40], [1 << 32, 1 << 32], [1 << 20, 1 << 20, 1 << 20, 1 << 20], [-5], [1 << 31, 1 << 31, 2, 2]):
            with self.subTest(shape=shape):
                (model / "inference.pdmodel").write_bytes(filling_program(shape))
                self.check_error(self.run_model(model, x))

    def test_wrong_flags(self):
        small = collection.FOLDER / "small"
        for flags in (["--threads", "many"], ["--threads", "-3"], ["--isa", "abacus"], ["--input"], ["--model"], ["--frobnicate", "1"]):
            with self.subTest(flags=flags):
                self.check_error(octet_side.call("run", "--model", small, "--input", self.x, *flags))
        self.check_error(octet_side.call("dance"), "dance")
        self.check_error(octet_side.call("run", "--input", self.x))


if __name__ == "__main__":
    collection.main()
