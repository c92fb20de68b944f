"""Small programs of a few ops each, for the ops and attributes that the real models do not use.

Each op stands alone between the program's inputs and an output of its own, so a wrong one is named by its output. The ops go
through Paddle's own op descriptions (append_op), which give attributes their true types and defaults.
"""

import functools

import numpy as np


class Net:
    """A program under construction; variables are known by their names."""

    def __init__(self):
        import paddle

        paddle.enable_static()
        self.paddle = paddle
        self.program = paddle.static.Program()
        self.block = self.program.global_block()
        self.rng = np.random.default_rng(17)
        self.inputs, self.outputs, self.params = [], [], {}

    def input(self, name, shape, dtype="float32"):
        self.inputs.append(self.block.create_var(name=name, shape=shape, dtype=dtype, is_data=True, need_check_feed=True))
        return name

    def param(self, values, dtype=np.float32):
        name = f"w_{len(self.params)}"
        values = np.asarray(values, dtype)
        self.block.create_var(name=name, shape=values.shape, dtype=values.dtype, persistable=True)
        self.params[name] = values
        return name

    def random(self, *shape):
        return self.param(self.rng.normal(0, 0.5, shape))

    def op(self, type, inputs, attrs=None, out="Out", keep=True, dtype="float32", extra=None, count=1, name=None):
        """Appends an op, returns its output `out` (a list if count > 1); kept outputs become outputs of the model."""
        name = name or f"{type}_{len(self.block.ops)}"
        names = [name if count == 1 else f"{name}_{i}" for i in range(count)]
        outputs = {out: [self.block.create_var(name=n, dtype=dtype) for n in names]}
        for slot, kind in (extra or {}).items():
            # An existing variable (Paddle updates statistics in place) or a new one of that dtype.
            outputs[slot] = [self.block.var(kind) if self.block.has_var(kind) else self.block.create_var(name=f"{name}.{slot}", dtype=kind)]
        slots = {slot: [self.block.var(v) for v in ([value] if isinstance(value, str) else value)] for slot, value in inputs.items()}
        self.block.append_op(type=type, inputs=slots, outputs=outputs, attrs=attrs or {})
        if keep:
            self.outputs += outputs[out]
        return names[0] if count == 1 else names

    def save(self, folder):
        scope = self.paddle.static.Scope()
        with self.paddle.static.scope_guard(scope):
            executor = self.paddle.static.Executor(self.paddle.CPUPlace())
            for name, values in self.params.items():
                scope.var(name).get_tensor().set(values, self.paddle.CPUPlace())
            self.paddle.static.save_inference_model(str(folder / "inference"), self.inputs, self.outputs, executor, program=self.program)
        self.restore_training_ops(folder / "inference.pdmodel")

    def restore_training_ops(self, file):
        """save_inference_model sets is_test everywhere; an op that was asked to measure its scale in each run goes back to that."""
        from paddle.base.proto import framework_pb2

        measuring = {op.output("Out")[0] for op in self.block.ops if op.has_attr("is_test") and op.type == "fake_channel_wise_quantize_abs_max" and not op.attr("is_test")}
        program = framework_pb2.ProgramDesc.FromString(file.read_bytes())
        for op in program.blocks[0].ops:
            if any(set(slot.arguments) & measuring for slot in op.outputs):
                next(attr for attr in op.attrs if attr.name == "is_test").b = False
        file.write_bytes(program.SerializeToString())


def model(*shapes, pictures="noise", **more):
    """Decorator: a function that fills a Net becomes a recipe; `shapes` are the feeds to test it with."""

    def wrap(build):
        @functools.wraps(build)
        def make(name, folder):
            net = Net()
            build(net)
            net.save(folder)
            return {"pictures": pictures, "inputs": [dict(zip((v.name for v in net.inputs), shape)) for shape in shapes], **more}

        return make

    return wrap


@model([[2, 6, 13, 17]], [[1, 6, 32, 9]])
def conv(net):
    x = net.input("x", [-1, 6, -1, -1])
    base = {"strides": [1, 1], "paddings": [0, 0], "dilations": [1, 1], "groups": 1, "data_format": "NCHW"}
    for cout, cin, kernel, changes in (
            (5, 6, (3, 3), {"padding_algorithm": "SAME"}),
            (5, 6, (3, 3), {"padding_algorithm": "SAME", "strides": [2, 2]}),
            (5, 6, (4, 2), {"padding_algorithm": "SAME", "strides": [2, 1]}),
            (5, 6, (3, 3), {"padding_algorithm": "SAME", "dilations": [2, 3]}),
            (5, 6, (3, 3), {"padding_algorithm": "VALID", "paddings": [1, 1]}),
            (5, 6, (3, 5), {"paddings": [1, 2]}),
            (5, 6, (3, 3), {"paddings": [1, 0, 2, 1], "strides": [2, 3]}),
            (5, 6, (3, 3), {"paddings": [2, 2], "dilations": [2, 2]}),
            (4, 3, (3, 3), {"groups": 2, "paddings": [1, 1]}),
            (5, 6, (1, 1), {})):
        net.op("conv2d", {"Input": x, "Filter": net.random(cout, cin, *kernel)}, base | changes, out="Output")
    for multiplier, changes in ((1, {"paddings": [1, 1]}), (2, {"paddings": [1, 1]}), (3, {"padding_algorithm": "SAME", "strides": [2, 2]})):
        net.op("depthwise_conv2d", {"Input": x, "Filter": net.random(6 * multiplier, 1, 3, 3)}, base | {"groups": 6} | changes, out="Output")


@model([[2, 6, 7, 9]], [[1, 6, 4, 5]])
def conv_transpose(net):
    x = net.input("x", [-1, 6, -1, -1])
    base = {"strides": [2, 2], "paddings": [0, 0], "dilations": [1, 1], "groups": 1, "data_format": "NCHW"}
    for cout, kernel, changes in (
            (5, (2, 2), {}),
            (5, (3, 3), {"paddings": [1, 1]}),
            (5, (3, 3), {"paddings": [1, 1], "output_padding": [1, 1]}),
            (5, (4, 4), {"paddings": [1, 1]}),
            (5, (3, 2), {"strides": [1, 3], "output_padding": [0, 2]}),
            (5, (3, 3), {"paddings": [1, 0, 0, 1]}),
            (5, (3, 3), {"dilations": [2, 2], "paddings": [1, 1]}),
            (3, (3, 3), {"groups": 3, "paddings": [1, 1]}),
            (5, (3, 3), {"padding_algorithm": "SAME"}),
            (5, (3, 3), {"padding_algorithm": "VALID"})):
        weight = net.random(6, cout // changes.get("groups", 1), *kernel)
        net.op("conv2d_transpose", {"Input": x, "Filter": weight}, base | changes, out="Output")
    net.op("depthwise_conv2d_transpose", {"Input": x, "Filter": net.random(6, 1, 4, 4)}, base | {"groups": 6, "paddings": [1, 1]}, out="Output")


@model([[2, 3, 13, 17]], [[1, 3, 8, 8]], [[1, 3, 7, 30]])
def pool(net):
    x = net.input("x", [-1, 3, -1, -1])
    base = {"ksize": [3, 3], "strides": [2, 2], "paddings": [1, 1], "pooling_type": "avg", "exclusive": True, "ceil_mode": False}
    for changes in (
            {}, {"exclusive": False}, {"ceil_mode": True}, {"ceil_mode": True, "exclusive": False}, {"paddings": [0, 1, 1, 0]},
            {"padding_algorithm": "SAME"}, {"padding_algorithm": "VALID"}, {"global_pooling": True},
            *({"adaptive": True, "ksize": size, "paddings": [0, 0]} for size in ([1, 1], [2, 2], [3, 5], [6, 6])),
            {"ksize": [2, 2], "paddings": [0, 0], "ceil_mode": True}, {"ksize": [2, 3], "strides": [1, 2], "paddings": [0, 1]}):
        # For "max", Paddle's pool2d ignores adaptive and slides its window; its own layers use another op for that.
        for kind in ("avg",) if "adaptive" in changes else ("avg", "max"):
            net.op("pool2d", {"X": x}, base | changes | {"pooling_type": kind})
    net.op("elementwise_add", {"X": x, "Y": net.random(1)})  # Paddle writes no parameter file without a parameter


@model([[2, 3, 7, 9]], [[1, 3, 16, 5]])
def resize(net):
    x = net.input("x", [-1, 3, -1, -1])
    for method in ("nearest", "bilinear"):
        # Paddle's nearest takes no align_mode but for the attribute's presence.
        for align_corners, align_mode in ((True, 1), (False, 0), (False, 1)):
            base = {"interp_method": method, "align_corners": align_corners, "align_mode": align_mode, "data_layout": "NCHW", "out_d": 0}
            for size in ({"out_h": 14, "out_w": 18, "scale": []}, {"out_h": 5, "out_w": 23, "scale": []}, {"out_h": 0, "out_w": 0, "scale": [2.0, 2.0]},
                         {"out_h": 0, "out_w": 0, "scale": [1.5, 0.7]}, {"out_h": 1, "out_w": 1, "scale": []}):
                net.op(f"{method}_interp_v2", {"X": x}, base | size)
            size = [net.op("fill_constant", {}, {"shape": [1], "dtype": 2, "value": float(v)}, keep=False, dtype="int32") for v in (11, 6)]
            net.op(f"{method}_interp_v2", {"X": x, "SizeTensor": size}, base | {"out_h": -1, "out_w": -1, "scale": []})
            net.op(f"{method}_interp_v2", {"X": x, "OutSize": net.param([6, 10], np.int32)}, base | {"out_h": -1, "out_w": -1, "scale": []})
            net.op(f"{method}_interp", {"X": x}, base | {"out_h": 10, "out_w": 11, "scale": 0.0})
            net.op(f"{method}_interp", {"X": x}, base | {"out_h": -1, "out_w": -1, "scale": 3.0})


@model([[2, 3, 2, 5, 6]], [[1, 3, 1, 8, 4]])
def pad(net):
    x = net.input("x", [-1, 3, -1, -1, -1])
    net.op("pad3d", {"X": x}, {"paddings": [1, 2, 3, 0, 0, 1], "mode": "constant", "value": 1.5, "data_format": "NCDHW"})
    for mode in ("reflect", "replicate", "circular"):
        net.op("pad3d", {"X": x}, {"paddings": [1, 2, 3, 0, 0, 0], "mode": mode, "data_format": "NCDHW"})
    net.op("elementwise_add", {"X": x, "Y": net.random(1)})


@model([[3, 4, 6]], [[1, 4, 6]])
def matmul(net):
    x = net.input("x", [-1, 4, 6])
    for other, trans_x, trans_y in (((6, 5), False, False), ((5, 6), False, True), ((4, 7), True, False), ((7, 4), True, True)):
        net.op("matmul_v2", {"X": x, "Y": net.random(*other)}, {"trans_x": trans_x, "trans_y": trans_y})
    net.op("matmul_v2", {"X": x, "Y": net.random(1, 6, 3)}, {"trans_x": False, "trans_y": False})
    net.op("matmul_v2", {"X": x, "Y": net.random(2, 1, 6, 3)}, {"trans_x": False, "trans_y": False})
    net.op("matmul_v2", {"X": x, "Y": net.random(6)}, {"trans_x": False, "trans_y": False})
    net.op("matmul_v2", {"X": x, "Y": x}, {"trans_x": False, "trans_y": True})
    net.op("matmul", {"X": x, "Y": x}, {"transpose_X": False, "transpose_Y": True, "alpha": 0.25})
    net.op("matmul", {"X": x, "Y": net.random(6, 2)}, {"transpose_X": False, "transpose_Y": False, "alpha": 1.0})
    net.op("mul", {"X": x, "Y": net.random(6, 5)}, {"x_num_col_dims": 2, "y_num_col_dims": 1})
    net.op("mul", {"X": x, "Y": net.random(24, 5)}, {"x_num_col_dims": 1, "y_num_col_dims": 1})
    net.op("mul", {"X": x, "Y": net.random(2, 3, 5)}, {"x_num_col_dims": 2, "y_num_col_dims": 2})


@model([[2, 6, 5, 7]], [[1, 6, 1, 3]])
def normalise(net):
    x = net.input("x", [-1, 6, -1, -1])
    mean, variance = net.random(6), net.param(net.rng.uniform(0.1, 2, 6))
    for epsilon in (1e-5, 1e-3):
        net.op("batch_norm", {"X": x, "Scale": net.random(6), "Bias": net.random(6), "Mean": mean, "Variance": variance},
               {"epsilon": epsilon, "momentum": 0.9, "is_test": True, "use_global_stats": True, "data_layout": "NCHW"}, out="Y",
               extra={"MeanOut": mean, "VarianceOut": variance, "SavedMean": "float32", "SavedVariance": "float32"})
    for axis in (-1, 1, 2, 0):
        net.op("softmax", {"X": x}, {"axis": axis})
    flat = net.op("reshape2", {"X": x}, {"shape": [0, 6, -1]}, extra={"XShape": "float32"}, keep=False)
    swapped = net.op("transpose2", {"X": flat}, {"axis": [0, 2, 1]}, extra={"XShape": "float32"}, keep=False)
    saved = {"Mean": "float32", "Variance": "float32"}
    net.op("layer_norm", {"X": swapped, "Scale": net.random(6), "Bias": net.random(6)}, {"begin_norm_axis": 2, "epsilon": 1e-5}, out="Y", extra=saved)
    net.op("layer_norm", {"X": swapped}, {"begin_norm_axis": 2, "epsilon": 1e-6}, out="Y", extra=saved)
    net.op("layer_norm", {"X": x}, {"begin_norm_axis": 1, "epsilon": 1e-5}, out="Y", extra=saved)


@model([[2, 5, 9]], [[1, 5, 400]])
def activation(net):
    x = net.input("x", [-1, 5, -1])
    for kind in ("relu", "sigmoid", "tanh", "exp", "abs"):
        net.op(kind, {"X": x})
    net.op("sqrt", {"X": net.op("abs", {"X": x}, keep=False)})
    for kind, attrs in (
            ("relu6", {}), ("relu6", {"threshold": 1.5}), ("leaky_relu", {}), ("leaky_relu", {"alpha": 0.3}), ("leaky_relu", {"alpha": 1.5}),
            ("hard_sigmoid", {}), ("hard_sigmoid", {"slope": 0.16666667, "offset": 0.5}), ("hard_swish", {}),
            ("swish", {}), ("gelu", {}), ("gelu", {"approximate": True}),
            ("clip", {"min": -0.5, "max": 0.75})):
        net.op(kind, {"X": x}, attrs)
    net.op("swish", {"X": x}, {"beta": 1.7})  # hard_swish has no such variant: Paddle 3 ignores its attributes
    net.op("clip", {"X": x, "Min": net.param([-0.25]), "Max": net.param([0.5])}, {"min": -9.0, "max": 9.0})
    for attrs in ({"dropout_implementation": "downgrade_in_infer"}, {"dropout_implementation": "upscale_in_train"}, {}):
        net.op("dropout", {"X": x}, {"dropout_prob": 0.3, "is_test": True} | attrs, extra={"Mask": "uint8"})


@model([[2, 3, 4, 5], [2, 3, 4, 5]], [[1, 3, 6, 7], [1, 3, 6, 7]])
def elementwise(net):
    x, y = net.input("x", [-1, 3, -1, -1]), net.input("y", [-1, 3, -1, -1])
    for kind in ("add", "sub", "mul", "div", "max", "min"):
        net.op(f"elementwise_{kind}", {"X": x, "Y": y}, {"axis": -1})
        net.op(f"elementwise_{kind}", {"X": x, "Y": net.random(3)}, {"axis": 1})
        net.op(f"elementwise_{kind}", {"X": x, "Y": net.random(3, 1, 1)}, {"axis": -1})
        net.op(f"elementwise_{kind}", {"X": x, "Y": net.random(1)}, {"axis": -1})
    net.op("elementwise_pow", {"X": net.op("abs", {"X": x}, keep=False), "Y": net.param([1.5])}, {"axis": -1})
    net.op("elementwise_add", {"X": x, "Y": net.random(3, 1)}, {"axis": 1})
    size = net.op("shape", {"Input": x}, out="Out", dtype="int32", keep=False)
    for kind in ("add", "sub", "mul"):
        net.op(f"elementwise_{kind}", {"X": size, "Y": net.param([3, 5, 7, 9], np.int32)}, {"axis": -1}, dtype="int32")
    net.op("scale", {"X": x}, {"scale": 1.5, "bias": 0.25, "bias_after_scale": True})
    net.op("scale", {"X": x}, {"scale": 1.5, "bias": 0.25, "bias_after_scale": False})
    net.op("scale", {"X": x, "ScaleTensor": net.param([2.5])}, {"scale": 1.0, "bias": 1.0, "bias_after_scale": True})
    net.op("scale", {"X": size}, {"scale": 2.0, "bias": 1.0, "bias_after_scale": True}, dtype="int32")
    net.op("assign", {"X": x})
    net.op("cast", {"X": x}, {"in_dtype": 5, "out_dtype": 2}, dtype="int32")
    net.op("cast", {"X": x}, {"in_dtype": 5, "out_dtype": 3}, dtype="int64")
    net.op("cast", {"X": net.op("cast", {"X": x}, {"in_dtype": 5, "out_dtype": 3}, dtype="int64", keep=False)}, {"in_dtype": 3, "out_dtype": 5})


@model([[2, 4, 6, 5]], [[1, 4, 6, 3]])
def shapes(net):
    x = net.input("x", [-1, 4, 6, -1])
    xshape = {"XShape": "float32"}
    size = net.op("shape", {"Input": x}, out="Out", dtype="int32")
    net.op("reshape2", {"X": x}, {"shape": [0, -1, 3]}, extra=xshape)
    net.op("reshape2", {"X": x}, {"shape": [0, 0, 2, 3, -1]}, extra=xshape)
    net.op("reshape2", {"X": x, "Shape": net.param([-1, 8], np.int32)}, {"shape": []}, extra=xshape)
    batch = net.op("slice", {"Input": size}, {"axes": [0], "starts": [0], "ends": [1], "infer_flags": [1], "decrease_axis": []}, dtype="int32", keep=False)
    minus = net.op("fill_constant", {}, {"shape": [1], "dtype": 2, "value": -1.0}, dtype="int32", keep=False)
    net.op("reshape2", {"X": x, "ShapeTensor": [batch, minus]}, {"shape": [-1, -1]}, extra=xshape)
    for start, stop in ((1, 3), (0, 1), (1, -1), (2, 3)):
        net.op("flatten_contiguous_range", {"X": x}, {"start_axis": start, "stop_axis": stop}, extra=xshape)
    wide = net.op("unsqueeze2", {"X": x}, {"axes": [1, 3]}, extra=xshape)
    net.op("unsqueeze2", {"X": x}, {"axes": [-1]}, extra=xshape)
    net.op("squeeze2", {"X": wide}, {"axes": [1]}, extra=xshape)
    net.op("squeeze2", {"X": wide}, {"axes": [-3, 1]}, extra=xshape)
    for axis in ([0, 2, 3, 1], [3, 2, 1, 0]):
        net.op("transpose2", {"X": x}, {"axis": axis}, extra=xshape)
    for axis in (0, 1, -1):
        net.op("concat", {"X": [x, x]}, {"axis": axis})
    net.op("concat", {"X": [x, net.op("relu", {"X": x}, keep=False)], "AxisTensor": net.param([2], np.int32)}, {"axis": 0})
    net.op("split", {"X": x}, {"axis": 1, "num": 2, "sections": []}, count=2)
    net.op("split", {"X": x}, {"axis": 2, "num": 0, "sections": [1, 2, 3]}, count=3)
    net.op("split", {"X": x}, {"axis": 2, "num": 0, "sections": [1, -1]}, count=2)
    for axes, starts, ends, decrease in (([1], [1], [3], []), ([1, 2], [-3, 1], [100, -1], []), ([1], [2], [3], [1]), ([0, 1], [0, 0], [1, 1], [0, 1])):
        net.op("slice", {"Input": x}, {"axes": axes, "starts": starts, "ends": ends, "infer_flags": [1] * len(axes), "decrease_axis": decrease})
    net.op("slice", {"Input": x, "EndsTensorList": [batch]}, {"axes": [1], "starts": [0], "ends": [-1], "infer_flags": [-1], "decrease_axis": []})
    net.op("slice", {"Input": size}, {"axes": [0], "starts": [1], "ends": [2], "infer_flags": [1], "decrease_axis": [0]}, dtype="int32")
    net.op("fill_constant", {}, {"shape": [2, 3], "dtype": 5, "value": 0.1})
    net.op("fill_constant", {}, {"shape": [2], "dtype": 3, "value": 0.0, "str_value": "16777217"}, dtype="int64")
    net.op("fill_constant", {"ShapeTensorList": [batch, batch]}, {"shape": [-1, -1], "dtype": 5, "value": 2.5})
    net.op("fill_constant", {"ShapeTensor": size}, {"shape": [], "dtype": 2, "value": 7.0}, dtype="int32")


@model([[2, 4, 6, 5]], [[1, 4, 6, 3]])
def reduce(net):
    x = net.input("x", [-1, 4, 6, -1])
    for kind in ("mean", "sum", "max"):
        for dim, keep, everything in (([2, 3], True, False), ([2, 3], False, False), ([-1], False, False), ([0, 2], True, False), ([1], False, False), ([0], False, True)):
            net.op(f"reduce_{kind}", {"X": x}, {"dim": dim, "keep_dim": keep, "reduce_all": everything})
    for attrs, dtype in (({"axis": 1, "dtype": 2}, "int32"), ({"axis": -1, "dtype": 3, "keepdims": True}, "int64"), ({"axis": 0, "dtype": 3, "flatten": True}, "int64")):
        net.op("arg_max", {"X": x}, attrs, dtype=dtype)
    rounded = net.op("cast", {"X": x}, {"in_dtype": 5, "out_dtype": 2}, dtype="int32", keep=False)
    ties = net.op("cast", {"X": rounded}, {"in_dtype": 2, "out_dtype": 5}, keep=False)
    net.op("arg_max", {"X": ties}, {"axis": 2, "dtype": 3}, dtype="int64")
    net.op("elementwise_add", {"X": x, "Y": net.random(1)})


@model([[2, 4, 6, 5]], [[1, 4, 3, 200]], integers=True)
def quantize(net):
    """Every quantization op of both generations. Outputs are integers as floats, or multiples of a step."""
    x = net.input("x", [-1, 4, -1, -1])
    scale, channels = net.param([2.5]), net.param(net.rng.uniform(0.5, 3, 4))
    zero, zeros = net.param([0], np.int32), net.param([0] * 4, np.int32)
    for round_type in (0, 1):
        base = {"bit_length": 8, "round_type": round_type}
        net.op("fake_quantize_abs_max", {"X": x}, base, extra={"OutScale": "float32"})
        net.op("fake_quantize_dequantize_abs_max", {"X": x}, base, extra={"OutScale": "float32"})
        for axis in (0, 1):
            net.op("fake_channel_wise_quantize_dequantize_abs_max", {"X": x}, base | {"quant_axis": axis}, extra={"OutScale": "float32"})
            net.op("fake_channel_wise_quantize_abs_max", {"X": x}, base | {"quant_axis": axis, "is_test": False}, extra={"OutScale": "float32"})
        # At is_test the scale is not measured but read, from the variable of the output slot.
        net.op("fake_channel_wise_quantize_abs_max", {"X": x}, base | {"quant_axis": 1, "is_test": True}, extra={"OutScale": channels})
        net.op("fake_quantize_range_abs_max", {"X": x, "InScale": scale}, base | {"is_test": True, "window_size": 10000}, extra={"OutScale": scale})
        for kind in ("fake_quantize_moving_average_abs_max", "fake_quantize_dequantize_moving_average_abs_max"):
            net.op(kind, {"X": x, "InScale": scale}, base | {"is_test": True, "moving_rate": 0.9}, extra={"OutScale": scale})
        for value, zero_point, axis in ((scale, zero, -1), (channels, zeros, 1)):
            attrs = base | {"quant_axis": axis, "is_test": True, "only_observer": False}
            integers = net.op("quantize_linear", {"X": x, "Scale": value, "ZeroPoint": zero_point}, attrs, out="Y")
            net.op("dequantize_linear", {"X": integers, "Scale": value, "ZeroPoint": zero_point}, attrs, out="Y")
    observer = {"bit_length": 8, "quant_axis": -1, "round_type": 0, "is_test": True, "only_observer": True}
    net.op("quantize_linear", {"X": x, "Scale": scale, "ZeroPoint": zero}, observer, out="Y")
    net.op("dequantize_linear", {"X": x, "Scale": scale, "ZeroPoint": zero}, observer, out="Y")
    net.op("moving_average_abs_max_scale", {"X": x}, {"moving_rate": 0.9, "is_test": True}, extra={"OutScale": "float32"})
    integers = net.op("fake_quantize_range_abs_max", {"X": x, "InScale": scale}, {"bit_length": 8, "is_test": True}, keep=False, extra={"OutScale": scale})
    net.op("fake_dequantize_max_abs", {"X": integers, "Scale": scale}, {"max_range": 127.0})
    net.op("fake_dequantize_max_abs", {"X": integers, "Scale": scale}, {"max_range": 127.0 * 127 / 0.3})
    dequantize = "fake_channel_wise_dequantize_max_abs"
    net.op(dequantize, {"X": integers, "Scales": [channels]}, {"quant_bits": [8], "quant_axis": 1, "x_num_col_dims": 1})
    net.op(dequantize, {"X": integers, "Scales": [channels, scale]}, {"quant_bits": [8, 8], "quant_axis": 0, "x_num_col_dims": 1})
    rows = net.op("reshape2", {"X": integers}, {"shape": [0, -1, 4]}, extra={"XShape": "float32"}, keep=False)
    net.op(dequantize, {"X": rows, "Scales": [channels, scale]}, {"quant_bits": [8, 8], "quant_axis": 1, "x_num_col_dims": 2})
    weights = net.param(np.round(net.rng.uniform(-127, 127, (4, 3, 3, 3))))
    net.op(dequantize, {"X": weights, "Scales": [channels]}, {"quant_bits": [8], "quant_axis": 0, "x_num_col_dims": 1})


MODELS = {f"op_{build.__name__}": build for build in (
    conv, conv_transpose, pool, resize, pad, matmul, normalise, activation, elementwise, shapes, reduce, quantize)}
