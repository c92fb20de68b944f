"""The node tests that the onnx package makes, in octet and in ONNX Runtime.

    conformance.py [--quick] [--failures] [--record]

Prints the score over all tests, and over those of the ops in scope with the types that octet holds. A test gives
everything as an input of the graph, weights and axes, too. Where octet needs such a one as a constant, which it is in
every real model, the test is run again with all but the first input as initializers. --quick leaves out ONNX Runtime and
fails when a test fails, or is no longer there, that is on record in conformance.txt as passing; --record writes that file.
"""
import argparse
import pathlib
import sys
import tempfile
import warnings

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

from octet_side import Octet

RECORD = pathlib.Path(__file__).resolve().parent / "conformance.txt"
SCOPE = """Conv ConvTranspose MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool BatchNormalization Relu LeakyRelu
PRelu Sigmoid HardSigmoid HardSwish Clip Elu Selu Softplus Mish Gelu Swish Erf Tanh Exp Log Sqrt Reciprocal Pow Floor Ceil
Round Sign Add Sub Mul Div Mod Min Max Sum Mean Neg Abs Gemm MatMul Concat Split Slice Gather GatherND GatherElements
ScatterElements Reshape Transpose Flatten Squeeze Unsqueeze Expand Tile Shape Size ConstantOfShape Range Cast CastLike Where
Equal Less LessOrEqual Greater GreaterOrEqual Not And Or Xor ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1
ReduceL2 ReduceSumSquare ArgMax ArgMin Softmax LogSoftmax LayerNormalization RMSNormalization InstanceNormalization
GroupNormalization LpNormalization Resize Upsample Pad DepthToSpace SpaceToDepth GridSample RoiAlign TopK NonMaxSuppression
LSTM Einsum Identity Dropout Constant LRN CumSum OneHot QuantizeLinear DequantizeLinear QLinearConv QLinearMatMul
ConvInteger MatMulInteger DynamicQuantizeLinear""".split()
TYPES = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.INT8, onnx.TensorProto.UINT8,
         onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}


def is_in_scope(case):
    graph = case.model.graph
    types = {value.type.tensor_type.elem_type for value in [*graph.input, *graph.output]}
    trains = any("training" in name for name in [case.name])
    return all(node.op_type in SCOPE for node in graph.node) and types <= TYPES and not trains


def arrays(tensors):
    """Some tests have their data as messages."""
    return [onnx.numpy_helper.to_array(t) if isinstance(t, onnx.TensorProto) else np.asarray(t) for t in tensors]


def with_constants(model, inputs):
    """The model with all inputs but the first as initializers."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    changed.ir_version = max(changed.ir_version, 4)
    for value, array in list(zip(model.graph.input, inputs))[1:]:
        changed.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
    del changed.graph.input[1:]
    return changed


def agree(found, expected, case):
    if len(found) < len(expected):
        return False
    for ours, wanted in zip(found, expected):
        wanted = np.asarray(wanted)
        if ours.shape != wanted.shape:
            return False
        if wanted.dtype.kind in "iub":
            if not np.array_equal(ours, wanted):
                return False
        elif not np.allclose(ours.astype(wanted.dtype).astype(np.float64), wanted.astype(np.float64), rtol=case.rtol,
                             atol=case.atol, equal_nan=True):
            return False
    return True


def passes_octet(octet, case, inputs, expected):
    why = ""
    for model, given in ((case.model, inputs), (None, inputs[:1])):
        if model is None:
            if len(inputs) < 2:
                break
            model = with_constants(case.model, inputs)
        try:
            if agree(octet.run(model.SerializeToString(), given), expected, case):
                return True, ""
            why = why or "other numbers"
        except RuntimeError as error:
            why = why or str(error)
    return False, why


def passes_onnxruntime(case, inputs, expected):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(case.model.SerializeToString(), options, ["CPUExecutionProvider"])
        found = session.run(None, {i.name: array for i, array in zip(session.get_inputs(), inputs)})
        return agree([np.asarray(array) for array in found], expected, case)
    except Exception:  # whatever it can't do
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--failures", action="store_true", help="name the tests in scope that fail, and why")
    parser.add_argument("--record", action="store_true", help="write conformance.txt: which tests pass")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    recorded = set()
    if arguments.quick:
        if not RECORD.exists():
            sys.exit(f"{RECORD}: no such file; conformance.py --record writes it")
        recorded = set(RECORD.read_text().split())
        if not recorded:
            sys.exit(f"{RECORD}: it names no test; conformance.py --record writes it")
    # Half of the tests are the bodies of function ops written out.
    cases = [case for case in collect_testcases(None) if not arguments.quick or case.name in recorded]
    score = {"octet": [0, 0], "ONNX Runtime": [0, 0]}
    in_scope, passed = 0, []
    failures = [f"{name}: onnx {onnx.__version__} has no such test" for name in sorted(recorded - {c.name for c in cases})]
    with tempfile.TemporaryDirectory() as folder:
        octet = Octet(folder)
        for case in cases:
            scoped = is_in_scope(case)
            in_scope += scoped
            inputs, expected = case.data_sets[0]
            try:
                inputs, expected = arrays(inputs), arrays(expected)
                ok, why = passes_octet(octet, case, inputs, expected)
            except Exception as error:  # sequences, types that numpy has not
                ok, why = False, f"{type(error).__name__}: {error}"
            score["octet"][0] += ok
            score["octet"][1] += ok and scoped
            if ok:
                passed.append(case.name)
            elif scoped or arguments.quick:
                failures.append(f"{case.name}: {why}")
            if not arguments.quick:
                ok = passes_onnxruntime(case, inputs, expected)
                score["ONNX Runtime"][0] += ok
                score["ONNX Runtime"][1] += ok and scoped
        octet.close()
    if arguments.record:
        RECORD.write_text("\n".join(sorted(passed)) + "\n")
    if arguments.failures or arguments.quick:
        print(*failures, sep="\n")
    for name, (all_of_them, scoped) in score.items():
        if name == "octet" or not arguments.quick:
            print(f"{name}: {all_of_them} of {len(cases)} node tests of onnx {onnx.__version__}, "
                  f"{scoped} of {in_scope} in scope")
    return 1 if arguments.quick and failures else 0


if __name__ == "__main__":
    sys.exit(main())
