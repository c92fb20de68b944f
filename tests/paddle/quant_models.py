"""The quantized models: PaddleSlim's post-training quantization in both file generations, and quantization-aware training."""

import shutil

import numpy as np

import pictures


def small_net(paddle):
    """A net with each kind of quantizable layer and few tensors: KL calibration costs half a second of Python a tensor."""
    nn = paddle.nn

    class SmallNet(nn.Layer):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2D(3, 12, 3, stride=2, padding=1, bias_attr=False), nn.BatchNorm2D(12), nn.Hardswish())
            self.depthwise = nn.Sequential(nn.Conv2D(12, 12, 5, padding=2, groups=12, bias_attr=False), nn.BatchNorm2D(12), nn.ReLU())
            self.project = nn.Sequential(nn.Conv2D(12, 12, 1, bias_attr=False), nn.BatchNorm2D(12))
            self.up = nn.Conv2DTranspose(12, 10, 2, stride=2)
            self.down = nn.Sequential(nn.Conv2D(10, 24, 3, stride=2, padding=1), nn.BatchNorm2D(24), nn.ReLU6())
            self.pool = nn.AdaptiveAvgPool2D(1)
            self.fc = nn.Linear(24, 12)

        def forward(self, x):
            x = self.stem(x)
            x = x + self.project(self.depthwise(x))
            x = self.pool(self.down(self.up(x)))
            return self.fc(paddle.flatten(x, 1))

    paddle.seed(3)
    model = SmallNet()
    for layer in model.sublayers():
        if isinstance(layer, nn.BatchNorm2D):
            layer._momentum = 0.0
        if isinstance(layer, nn.Linear):  # logits of some size, so that the first is clearly the first
            layer.weight.set_value(layer.weight.numpy() * 8)
    model.train()
    with paddle.no_grad():
        model(paddle.to_tensor(pictures.photos(48, 64, 64, seed=1)[0]))
    model.eval()
    return model


SMALL_CASE = {"pictures": "photo", "inputs": [{"x": [2, 3, 64, 64]}, {"x": [1, 3, 50, 70]}], "evaluation": [3, 64, 64]}


def export_small(name, folder):
    import paddle

    spec = [paddle.static.InputSpec([None, 3, None, None], "float32", "x")]
    paddle.jit.save(small_net(paddle), str(folder / "inference"), input_spec=spec)
    return SMALL_CASE


def calibration(case, count):
    make = pictures.photos if case["pictures"] == "photo" else pictures.text_lines
    height, width = case["evaluation"][1:]
    return make(count, height, width, seed=5)[0]


def post_training(source, algo, onnx_format, weights="channel_wise_abs_max"):
    def make(name, folder):
        import paddle
        from paddleslim.quant import quant_post_static

        case = {
            "ocr_cls": {"pictures": "text", "inputs": [{"x": [2, 3, 48, 192]}], "evaluation": [3, 48, 192]},
            "mobilenet_v3_small": {"pictures": "photo", "inputs": [{"x": [2, 3, 96, 96]}], "evaluation": [3, 96, 96]},
            "small": SMALL_CASE,
        }[source]
        data = calibration(case, 24)

        def loader():
            for i in range(0, len(data), 4):
                yield {"x": data[i : i + 4]}

        paddle.enable_static()
        quant_post_static(
            paddle.static.Executor(paddle.CPUPlace()), str(folder.parent / source), str(folder), data_loader=loader,
            model_filename="inference.pdmodel", params_filename="inference.pdiparams", save_model_filename="inference.pdmodel",
            save_params_filename="inference.pdiparams", batch_nums=len(data) // 4, algo=algo, onnx_format=onnx_format,
            weight_quantize_type=weights)
        return case | {"quantized": True}

    return make


def aware_training(name, folder):
    """Three steps of PACT quantization-aware training: enough to move the scales and the clipping bounds."""
    import paddle
    from paddleslim.dygraph.quant import QAT

    model = small_net(paddle)
    quantizer = QAT({"activation_preprocess_type": "PACT"})
    quantizer.quantize(model)
    optimizer = paddle.optimizer.Momentum(1e-3, parameters=model.parameters())
    model.train()
    crops, labels = pictures.photos(72, 64, 64, seed=6)
    for step in range(3):
        part = slice(24 * step, 24 * step + 24)
        loss = paddle.nn.functional.cross_entropy(model(paddle.to_tensor(crops[part])), paddle.to_tensor(labels[part]))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    model.eval()
    spec = [paddle.static.InputSpec([None, 3, None, None], "float32", "x")]
    quantizer.save_quantized_model(model, str(folder / "inference"), input_spec=spec)
    return SMALL_CASE | {"quantized": True}


MODELS = {
    "small_kl_onnx": post_training("small", "KL", True),
    "small_kl_old": post_training("small", "KL", False),
    "mobilenet_v3_small_hist_onnx": post_training("mobilenet_v3_small", "hist", True),
    "mobilenet_v3_small_hist_old": post_training("mobilenet_v3_small", "hist", False),
    "ocr_cls_hist_onnx": post_training("ocr_cls", "hist", True),
    "ocr_cls_hist_old": post_training("ocr_cls", "hist", False),
    "ocr_cls_per_tensor_onnx": post_training("ocr_cls", "abs_max", True, "abs_max"),
    "ocr_cls_per_tensor_old": post_training("ocr_cls", "abs_max", False, "abs_max"),
    "small_qat_pact": aware_training,
}
