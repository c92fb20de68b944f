"""Cuts a quantized program into layers: from the float tensors that get quantized to the next integers."""

import dataclasses

OBSERVERS = ("moving_average_abs_max_scale",)
ROUNDERS = ("fake_quantize_dequantize_moving_average_abs_max",)  # to integers and back in one
QUANTIZERS = ("fake_quantize_range_abs_max", "fake_quantize_moving_average_abs_max", "quantize_linear")


@dataclasses.dataclass
class Layer:
    inputs: list  # tensors to feed
    inner: str  # the float tensor that is computed from them and then quantized; None for a quantizer alone
    output: str  # the integers, or an output of the model
    integers: bool


def is_quantizer(op, program):
    if op.type not in QUANTIZERS or op.input("X") in program.persistable:
        return False
    return not op.attrs.get("only_observer", (0, False))[1]


def quantizer_output(op):
    return op.output("Y" if op.type == "quantize_linear" else "Out")


def quantizers(program):
    """Each quantizer alone: its float input, its integers."""
    return [Layer([op.input("X")], None, quantizer_output(op), True) for op in program.ops if is_quantizer(op, program)]


def layers(program):
    """Each stretch of the program between two tensors that are rounded, and from the last ones to the outputs."""
    producers = {name: op for op in program.ops for names in op.outputs.values() for name in names if name not in program.persistable}
    quantized = {op.input("X") for op in program.ops if is_quantizer(op, program)}
    rounded = {op.input("X") for op in program.ops if op.type in ROUNDERS} - program.persistable - quantized - set(program.feeds)
    cuts = quantized | rounded | set(program.feeds)

    def reached(name):
        """The cuts that `name` is computed from."""
        found, seen, waiting = [], set(), [name]
        while waiting:
            for source in (n for names in producers[waiting.pop()].inputs.values() for n in names):
                if source in program.persistable or source in seen:
                    continue
                seen.add(source)
                if source in cuts:
                    found.append(source)
                elif source in producers:
                    waiting.append(source)
        return found

    result = []
    for op in program.ops:
        if is_quantizer(op, program) and op.input("X") not in program.feeds:
            result.append(Layer(reached(op.input("X")), op.input("X"), quantizer_output(op), True))
    result += [Layer(reached(name), name, name, False) for name in (*sorted(rounded), *program.fetches)]
    return result


def group(layers):
    """Splits layers into groups that one run can compute: what a layer computes must not be fed to another of its group."""
    groups = []
    for layer in layers:
        for members in groups:
            if not any(layer.inner in other.inputs or other.inner in layer.inputs for other in members):
                members.append(layer)
                break
        else:
            groups.append([layer])
    return groups
