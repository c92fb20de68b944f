"""tools/setup on machines that lack this or that, played by small stand-ins for apt-get, dpkg-query, python3 and pip."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "setup"
REAL = "bash cat comm dirname env flock grep mkdir rm sed sha256sum sort tail touch uname".split()
PROGRAMS = "make g++ cmake ninja ccache mpirun clang++ clang-format-14 clang-tidy aarch64-linux-gnu-g++ qemu-aarch64".split()

STAND_INS = {
    "id": "echo 0",
    "sleep": "",
    # Every library is installed but the one in $LACKS.
    "dpkg-query": 'for p in "${@:3}"; do [[ $p == "${LACKS:-}" ]] || echo "installed $p"; done',
    # Fails as often as the file says, then works.
    "apt-get": """
        echo "apt-get ${*: -2}" >>"$WORLD/calls"
        left=$(cat "$WORLD/apt_failures")
        ((left == 0)) || { echo $((left - 1)) >"$WORLD/apt_failures"; echo "E: no network" >&2; exit 100; }""",
    "python3": """
        case $* in
          -ISc*) echo 3.11 ;;
          *ensurepip*) exit "${NO_ENSUREPIP:-0}" ;;
          "-m venv "*) mkdir -p "$3/bin"; cat "$WORLD/bin/pip" >"$3/bin/python"; "$WORLD/bin/chmod" +x "$3/bin/python" ;;
        esac""",
    "pip": """
        echo "pip ${*: -1}" >>"$WORLD/calls"
        left=$(cat "$WORLD/pip_failures")
        ((left == 0)) || { echo $((left - 1)) >"$WORLD/pip_failures"; echo "ERROR: no such wheel" >&2; exit 1; }""",
}


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.world = pathlib.Path(folder.name)
        bin = self.world / "bin"
        bin.mkdir()
        for name in REAL + ["chmod"]:
            (bin / name).symlink_to(shutil.which(name))
        for name, script in {**STAND_INS, **dict.fromkeys(PROGRAMS, "")}.items():
            (bin / name).write_text(f"#!{shutil.which('bash')}\n{script}\n")
            (bin / name).chmod(0o755)
        self.fail_first(apt=0, pip=0)

    def fail_first(self, apt, pip):
        (self.world / "apt_failures").write_text(str(apt))
        (self.world / "pip_failures").write_text(str(pip))

    def run_setup(self, *words, **environment):
        """Exit code, lines on stderr, and the calls of apt-get and pip."""
        calls = self.world / "calls"
        calls.write_text("")
        result = subprocess.run(
            [TOOL, *words], capture_output=True, text=True,
            env={"PATH": str(self.world / "bin"), "HOME": str(self.world), "WORLD": str(self.world), **environment})
        return result.returncode, result.stderr.splitlines(), calls.read_text().splitlines()

    def test_nothing_missing_is_silent(self):
        self.assertEqual(self.run_setup("neon"), (0, [], []))
        self.assertFalse((self.world / ".cache").exists())

    def test_libtorch_is_installed_once(self):
        code, lines, calls = self.run_setup("build")
        self.assertEqual((code, len(lines), len(calls)), (0, 1, 1))
        self.assertIn("installing libtorch (pip", lines[0])
        self.assertTrue(calls[0].endswith("/libtorch.txt"))
        self.assertEqual(self.run_setup("build"), (0, [], []))

    def test_the_environment_of_the_tests_is_made_once(self):
        self.run_setup("build")
        code, lines, calls = self.run_setup("test")
        self.assertEqual((code, len(lines), len(calls)), (0, 1, 1))
        self.assertIn("Python packages", lines[0])
        self.assertTrue(calls[0].endswith("/requirements.txt"))
        self.assertEqual(self.run_setup("test"), (0, [], []))

    def test_onnx_has_an_environment_of_its_own(self):
        self.run_setup("test")
        code, lines, calls = self.run_setup("onnx")
        self.assertEqual((code, len(lines), len(calls)), (0, 1, 1))
        self.assertTrue(calls[0].endswith("/requirements-onnx.txt"))
        self.assertEqual(self.run_setup("onnx"), (0, [], []))

    def test_cuda_is_for_who_asks(self):
        code, lines, calls = self.run_setup("cuda")
        self.assertEqual((code, len(lines), len(calls)), (0, 1, 1))
        self.assertIn("CUDA", lines[0])
        self.assertTrue(calls[0].endswith("/libtorch-cuda.txt"))
        self.assertEqual(self.run_setup("cuda"), (0, [], []))

    def test_folders_of_libtorch_are_apart(self):
        folders = set()
        for flag in "--python", "--onnx-python", "--libtorch", "--libtorch-cuda":
            result = subprocess.run([TOOL, flag], capture_output=True, text=True,
                                    env={"PATH": str(self.world / "bin"), "HOME": str(self.world)})
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            folders.add(result.stdout.strip().removeprefix(str(self.world / ".cache/octet")).split("/")[1])
        self.assertEqual(len(folders), 4, folders)

    def test_python_is_that_of_the_environment(self):
        self.run_setup("test")
        result = subprocess.run([TOOL, "--python"], capture_output=True, text=True,
                                env={"PATH": str(self.world / "bin"), "HOME": str(self.world)})
        self.assertTrue(os.access(result.stdout.strip(), os.X_OK), result)

    def test_a_missing_program_and_library_are_installed(self):
        (self.world / "bin" / "ninja").unlink()
        code, lines, calls = self.run_setup("build", LACKS="libfmt-dev")
        self.assertEqual(code, 0)
        self.assertIn("ninja-build libfmt-dev", lines[0])
        self.assertEqual(calls[1], "apt-get ninja-build libfmt-dev")

    def test_debian_python_without_venv(self):
        _, lines, calls = self.run_setup("test", NO_ENSUREPIP="1")
        self.assertIn("python3-venv", lines[0])
        self.assertTrue(calls[1].endswith("python3-venv"), calls)

    def test_apt_is_tried_twice(self):
        self.fail_first(apt=1, pip=0)
        self.assertEqual(self.run_setup("build", LACKS="libfmt-dev")[0], 0)
        self.fail_first(apt=9, pip=0)
        code, lines, calls = self.run_setup("build", LACKS="libfmt-dev")
        self.assertEqual((code, len(calls)), (1, 2))
        self.assertIn("error: apt-get update failed: E: no network", lines[-1])

    def test_pip_is_tried_twice_and_half_an_environment_does_not_count(self):
        self.run_setup("build")
        self.fail_first(apt=0, pip=2)
        code, lines, calls = self.run_setup("test")
        self.assertEqual((code, len(calls)), (1, 2))
        self.assertIn("error: pip install failed: ERROR: no such wheel", lines[-1])
        code, _, calls = self.run_setup("test")
        self.assertEqual((code, len(calls)), (0, 1))

    def test_unknown_argument(self):
        code, lines, _ = self.run_setup("everything")
        self.assertEqual((code, len(lines)), (1, 1))
        self.assertIn("'everything'", lines[0])


if __name__ == "__main__":
    unittest.main()
