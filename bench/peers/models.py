"""The models that are measured, and what is asked of octet on each: its time as a part of the best peer's time."""

import dataclasses

CLASSIFIER = (1, 3, 224, 224)


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    shape: tuple
    required: dict = dataclasses.field(default_factory=dict)  # precision -> at most this ratio; "int8 avx2": without an 8-bit dot product
    goal: dict = dataclasses.field(default_factory=dict)
    engines: tuple = ("octet", "openvino", "ort", "paddle", "ncnn", "mnn")
    precisions: tuple = ("fp32", "int8")
    environment: str = "engines"  # whose Paddle exports it


def ocr(name, shape):
    return Model(name, shape, {"fp32": 1.0}, {"fp32": 1.0}, ("octet", "openvino", "paddle"), ("fp32",))


MODELS = {
    model.name: model
    for model in (
        Model("mobilenet_v3_small", CLASSIFIER, {"fp32": 0.85, "int8": 0.53, "int8 avx2": 0.60},
              {"fp32": 0.75, "int8": 0.45, "int8 avx2": 0.50}),
        Model("efficientnet_lite0", CLASSIFIER, {"fp32": 0.93, "int8": 0.72, "int8 avx2": 0.75},
              {"fp32": 0.85, "int8": 0.60, "int8 avx2": 0.65}),
        Model("mobilenet_v2", CLASSIFIER, {"fp32": 0.95, "int8": 0.72, "int8 avx2": 0.75},
              {"fp32": 0.88, "int8": 0.60, "int8 avx2": 0.65}),
        Model("resnet50", CLASSIFIER, {"fp32": 0.92, "int8": 0.96, "int8 avx2": 0.86},
              {"fp32": 0.85, "int8": 0.92, "int8 avx2": 0.82}),
        Model("bisenetv2", (1, 3, 512, 512), {"fp32": 0.84, "int8": 0.60, "int8 avx2": 0.74},
              {"fp32": 0.75, "int8": 0.50, "int8 avx2": 0.66}, environment="paddle-2.6"),
        Model("pp_liteseg_stdc1", (1, 3, 512, 512), {"fp32": 1.00, "int8": 0.85, "int8 avx2": 0.85},
              {"fp32": 0.90, "int8": 0.65, "int8 avx2": 0.65}, environment="paddle-2.6"),
        Model("deeplabv3p_resnet50_os8", (1, 3, 512, 512), {"fp32": 1.00, "int8": 0.85, "int8 avx2": 0.85},
              {"fp32": 0.90, "int8": 0.80, "int8 avx2": 0.80}, environment="paddle-2.6"),
        ocr("ocr_det", (1, 3, 640, 640)),
        ocr("ocr_rec", (1, 3, 48, 320)),
        ocr("ocr_cls", (1, 3, 48, 192)),
    )
}
