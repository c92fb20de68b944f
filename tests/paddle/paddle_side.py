"""Real Paddle as the tests ask it: run a model, look at its inner tensors, read its program.

All of it happens in a child process, since Paddle answers a program it dislikes with a segmentation fault: the test then fails
with the name of the model, and the next question gets a new child.
"""

import concurrent.futures
import concurrent.futures.process
import dataclasses
import functools
import multiprocessing
import os
import pathlib
import tempfile

import numpy as np


@dataclasses.dataclass
class Op:
    type: str
    inputs: dict  # slot -> variable names
    outputs: dict
    attrs: dict  # name -> (attribute type, value)

    def input(self, slot):
        return self.inputs[slot][0]

    def output(self, slot):
        return self.outputs[slot][0]


@dataclasses.dataclass
class Program:
    ops: list
    persistable: set
    feeds: list
    fetches: list


def model_paths(folder):
    named = [pathlib.Path(folder) / "inference.json", *sorted(pathlib.Path(folder).glob("*.pdmodel"))]
    program = next((path for path in named if path.exists()), pathlib.Path(folder) / "__model__")
    params = program.with_suffix(".pdiparams") if program.suffix else program.with_name("__params__")
    if program.suffix == ".json" and not (params.exists() and params.stat().st_size):  # a model without parameters
        return str(program), ""
    return str(program), str(params)


@functools.lru_cache(maxsize=1)
def _predictor(folder, stamp, ir_optim):
    from paddle import inference

    config = inference.Config(*model_paths(folder))
    config.disable_mkldnn()
    config.disable_glog_info()
    config.switch_ir_optim(ir_optim)
    config.set_cpu_math_library_num_threads(1)
    return inference.create_predictor(config)


def _stamp(folder):
    return os.stat(model_paths(folder)[0]).st_mtime_ns


def _run(folder, feeds, ir_optim):
    predictor = _predictor(folder, _stamp(folder), ir_optim)
    results = []
    for feed in feeds:
        for name, value in feed.items():
            predictor.get_input_handle(name).copy_from_cpu(np.ascontiguousarray(value))
        predictor.run()
        results.append({name: predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()})
    return results


def _run_static(folder, feeds):
    import paddle

    paddle.enable_static()
    executor = paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(paddle.static.Scope()):
        program, names, outputs = paddle.static.load_inference_model(f"{folder}/inference", executor)
        results = [executor.run(program, feed={name: feed[name] for name in names}, fetch_list=outputs) for feed in feeds]
    paddle.disable_static()
    return results


def _run_dynamic(folder, feeds):
    import paddle

    paddle.disable_static()
    layer = paddle.jit.load(f"{folder}/inference")
    layer.eval()
    results = []
    for feed in feeds:
        outputs = layer(*(paddle.to_tensor(value) for value in feed.values()))
        results.append([value.numpy() for value in (outputs if isinstance(outputs, (list, tuple)) else [outputs])])
    return results


def _single_assignment(folder):
    """The program with every variable written once: PaddleSlim lets a real quantizer and a mere observer write the same one.

    The first writer keeps the name, a later one gets a new name, so that both tensors can be looked at.
    """
    from paddle.base.proto import framework_pb2 as proto

    message = proto.ProgramDesc.FromString(pathlib.Path(model_paths(folder)[0]).read_bytes())
    block = message.blocks[0]
    variables = {var.name: var for var in block.vars}
    written, current = set(), {}
    for op in block.ops:
        for slot in op.inputs:
            slot.arguments[:] = [current.get(name, name) for name in slot.arguments]
        for slot in op.outputs:
            for i, name in enumerate(slot.arguments):
                if variables[name].persistable:
                    continue
                if name in written:
                    slot.arguments[i] = current[name] = f"{name}#{len(written)}"
                    block.vars.add().CopyFrom(variables[name])
                    block.vars[-1].name = slot.arguments[i]
                written.add(slot.arguments[i])
    return message


@functools.lru_cache(maxsize=1)
def _static_program(folder, stamp):
    import paddle

    paddle.enable_static()
    scope = paddle.static.Scope()
    executor = paddle.static.Executor(paddle.CPUPlace())
    with paddle.static.scope_guard(scope), tempfile.TemporaryDirectory(prefix="octet-parity-") as copy:
        pathlib.Path(copy, "m.pdmodel").write_bytes(_single_assignment(folder).SerializeToString())
        os.symlink(os.path.abspath(model_paths(folder)[1]), f"{copy}/m.pdiparams")
        loaded = paddle.static.load_inference_model(f"{copy}/m", executor)
    return scope, executor, loaded[0]


def _tensors(folder, feed, names):
    import paddle

    scope, executor, program = _static_program(folder, _stamp(folder))
    with paddle.static.scope_guard(scope):
        return dict(zip(names, executor.run(program, feed=feed, fetch_list=names)))


def _parameters(folder):
    scope, _, program = _static_program(folder, _stamp(folder))
    names = [var.name for var in program.list_vars() if var.persistable and var.name not in ("feed", "fetch")]
    return {name: np.array(scope.find_var(name).get_tensor()) for name in names}


def _program(folder):
    fields = ("i", "f", "s", "ints", "floats", "strings", "b", "bools", "block_idx", "l", "blocks_idx", "longs", "float64s",
              "var_name", "vars_name", "float64", "scalar", "scalars")
    block = _single_assignment(folder).blocks[0]
    ops = []
    for op in block.ops:
        attrs = {}
        for attr in op.attrs:
            value = getattr(attr, fields[attr.type])
            attrs[attr.name] = (attr.type, list(value) if fields[attr.type].endswith("s") and fields[attr.type] != "s" else value)
        ops.append(Op(op.type, {v.parameter: list(v.arguments) for v in op.inputs}, {v.parameter: list(v.arguments) for v in op.outputs}, attrs))
    return Program(
        [op for op in ops if op.type not in ("feed", "fetch")], {var.name for var in block.vars if var.persistable},
        [op.output("Out") for op in ops if op.type == "feed"], [op.input("X") for op in ops if op.type == "fetch"])


def _same_program(folder, other):
    from paddle.base.proto import framework_pb2 as proto

    first, second = (proto.ProgramDesc.FromString(pathlib.Path(model_paths(f)[0]).read_bytes()) for f in (folder, other))
    return first == second


def _start(pir):
    os.environ["FLAGS_enable_pir_api"] = "1" if pir else "0"
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["GLOG_minloglevel"] = "3"


class Paddle:
    def __init__(self, pir=False):
        """`pir`: as Paddle 3 is by default, for its own files; without it the older ones are read as they are."""
        self._pool, self._pir = None, pir

    def _ask(self, function, folder, *arguments):
        if self._pool is None:
            self._pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _start, (self._pir,))
        try:
            return self._pool.submit(function, str(folder), *arguments).result()
        except concurrent.futures.process.BrokenProcessPool as error:
            self._pool = None
            raise AssertionError(f"Paddle crashed on {folder}") from error

    def run(self, folder, feeds, ir_optim=False):
        """For each of `feeds` (name -> array) the outputs (name -> array), plain kernels, one thread."""
        return self._ask(_run, folder, feeds, ir_optim)

    def run_static(self, folder, feeds):
        """The same as lists, by the executor of static programs."""
        return self._ask(_run_static, folder, feeds)

    def run_dynamic(self, folder, feeds):
        """The same as lists, by a layer of paddle.jit.load."""
        return self._ask(_run_dynamic, folder, feeds)

    def tensors(self, folder, feed, names):
        """The inner tensors `names` as Paddle computes them without any IR optimisation."""
        return self._ask(_tensors, folder, feed, names)

    def parameters(self, folder):
        """All parameters as Paddle loads them."""
        return self._ask(_parameters, folder)

    def program(self, folder):
        """Its ops, where a variable that is written again has a new name from there on."""
        return self._ask(_program, folder)

    def same_program(self, folder, other):
        """Whether two programs are equal, variable for variable, op for op, attribute for attribute."""
        return self._ask(_same_program, folder, str(other))

    def close(self):
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
