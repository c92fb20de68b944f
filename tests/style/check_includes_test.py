"""Each rule of tools/check_includes catches its violation, and a clean tree passes."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_includes"
HEADER = "#pragma once\n"


class CheckIncludes(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src").mkdir()
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            result = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)
        self.assertEqual(result.stderr, "")
        return result.returncode, result.stdout

    def assert_caught(self, files, *words):
        code, output = self.run_on(files)
        self.assertEqual(code, 1, output)
        self.assertEqual(output.count("\n"), 1, output)
        for word in words:
            self.assertIn(word, output)

    def test_clean_tree(self):
        files = {
            "include/octet/a.h": HEADER + '#include <vector>\n#include "octet/b.h"\n',
            "src/graph/a.h": HEADER,
            "src/graph/a.cc": '#include "graph/a.h"\n\n#include <fmt/format.h>\n\n#include "base/x.h"\n',
            "src/cli/a.cc": '#include "octet/a.h"\n#include "quant/x.h"\n#include "train/x.h"\n#include <CLI/CLI.hpp>\n',
            "tests/graph/a_test.cc": '#include "graph/a.h"\n#include "support/x.h"\nusing namespace octet;\n',
        }
        self.assertEqual(self.run_on(files), (0, ""))

    def test_upward_include(self):
        self.assert_caught({"src/tensor/a.cc": '#include "graph/graph.h"\n'}, "src/tensor/a.cc", "graph/graph.h")

    def test_sideways_include(self):
        self.assert_caught({"src/passes/a.cc": '#  include "kernels/a.h"\n'}, "src/passes", "kernels/a.h")

    def test_include_that_is_no_path(self):
        self.assert_caught({"src/base/a.cc": '#include "b.h"\n'}, '"b.h"')

    def test_confined_library(self):
        self.assert_caught({"src/quant/a.cc": "#include <torch/torch.h>\n"}, "src/train only")

    def test_inside_of_a_format(self):
        files = {"src/formats/paddle/a.cc": '#include "formats/paddle/b.h"\n', "src/formats/format.cc": '#include "formats/paddle/b.h"\n'}
        self.assertEqual(self.run_on(files), (0, ""))
        self.assert_caught({"src/runtime/a.cc": '#include "formats/paddle/b.h"\n'}, "src/runtime/a.cc", "formats/format.h")
        self.assert_caught({"src/formats/onnx/a.cc": '#include "formats/paddle/b.h"\n'}, "src/formats/onnx/a.cc")

    def test_deployed_library_without_pictures(self):
        self.assert_caught({"src/quant/a.cc": "#include <yaml-cpp/yaml.h>\n"}, "yaml-cpp", "deployed")

    def test_public_header_with_a_library(self):
        self.assert_caught({"include/octet/a.h": HEADER + "#include <fmt/format.h>\n"}, "fmt/format.h")

    def test_public_header_with_an_inner_header(self):
        self.assert_caught({"include/octet/a.h": HEADER + '#include "base/error.h"\n'}, "base/error.h")

    def test_unknown_folder(self):
        self.assert_caught({"src/misc/a.cc": ""}, "src/misc")

    def test_no_pragma_once(self):
        self.assert_caught({"src/base/a.h": "int f();\n"}, "#pragma once")

    def test_using_namespace_in_a_header(self):
        self.assert_caught({"tests/support/a.h": HEADER + "using namespace octet;\n"}, "using namespace")

    def test_own_header_not_first(self):
        files = {"src/base/a.h": HEADER, "src/base/a.cc": '#include <vector>\n#include "base/a.h"\n'}
        self.assert_caught(files, "own header first")

    def test_long_file(self):
        self.assert_caught({"bench/a_bench.cc": "\n" * 601}, "601 lines")


if __name__ == "__main__":
    unittest.main()
