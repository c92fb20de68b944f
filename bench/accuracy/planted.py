"""A fault that leaves the function as it is: one channel times 1000 where it is made, and divided by 1000 where it is read.

A tensor has one scale, so all other channels would lose their precision. `octet ptq` with default flags has to notice: it keeps 99 % of the agreement
that it has on the healthy network, or names the layer and the remedy; on the healthy network it warns of nothing.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import report  # noqa: E402

FACTOR, CALIBRATE = 1000.0, 60
SIZES = {"mobilenet_v2": (96, 400), "resnet18": (96, 400), "resnet50": (96, 400), "efficientnet_lite0": (224, 150), "bisenetv2": (128, 8)}  # side, pictures


def stage(blocks, first, last):
    """Where a residual stream is made and read: the last layers of its blocks, and the first ones of those behind them."""
    return [blocks[i] for i in range(first, last + 1)], [blocks[i] for i in range(first + 1, last + 2)]


def places(name, model):
    """Three of each network, at linear or ReLU outputs: the batch norms that make the channel, the convolutions that read it."""
    if name == "efficientnet_lite0":
        makers, readers = stage(model.blocks, 1, 2)
        return [([model.blocks[0].project.norm], [model.blocks[1].expand.conv]), ([b.project.norm for b in makers], [b.expand.conv for b in readers]),
                ([model.blocks[15].project.norm], [model.head.conv])]
    if name == "mobilenet_v2":
        makers, readers = stage(model.features, 14, 16)
        return [([model.features[1].conv[-1]], [model.features[2].conv[0][0]]), ([b.conv[-1] for b in makers], [b.conv[0][0] for b in readers]),
                ([model.features[17].conv[-1]], [model.features[18][0]])]
    if name == "bisenetv2":
        layers = [layer for layer in model.network.db.sublayers() if hasattr(layer, "_batch_norm")]
        return [([layers[i]._batch_norm], [layers[i + 1]._conv]) for i in (0, 3, 6)]
    if name == "resnet18":
        return [([block.bn1], [block.conv2]) for block in (model.layer1[0], model.layer2[1], model.layer4[0])]
    return [([model.layer1[0].bn1], [model.layer1[0].conv2]), ([model.layer2[1].bn2], [model.layer2[1].conv3]),
            ([model.layer4[0].bn2], [model.layer4[0].conv3])]


def scale(place, channel, factor):
    makers, readers = place
    for norm in makers:
        for parameter in (norm.weight, norm.bias):
            values = parameter.numpy()
            values[channel] *= factor
            parameter.set_value(values)
    for conv in readers:
        values = conv.weight.numpy()
        values[:, channel] /= factor
        conv.weight.set_value(values)


def make(name, folder):
    """The network, healthy and with each fault, in folders of its own; and pictures."""
    import networks
    import paddle

    paddle.seed(7)
    side, count = SIZES[name]
    makers = {"efficientnet_lite0": networks.efficientnet_lite0, "bisenetv2": lambda: networks.segmentation("bisenetv2")}
    model = makers[name]() if name in makers else getattr(paddle.vision.models, name)(pretrained=False)
    shape = (1, 3, side, side)
    if name != "efficientnet_lite0":
        networks.take_norm_statistics(model, networks.sample_pictures(name, shape, 16, seed=1))
    model.eval()
    np.save(folder / "calibrate.npy", networks.sample_pictures(name, shape, CALIBRATE, seed=2))
    np.save(folder / "x.npy", networks.sample_pictures(name, shape, count, seed=1000))
    spec = [paddle.static.InputSpec([None, *shape[1:]], "float32", "x")]
    paddle.jit.save(model, str(folder / "healthy" / "inference"), input_spec=spec)
    for i, place in enumerate(places(name, model)):
        scale(place, 3, FACTOR)
        paddle.jit.save(model, str(folder / f"planted {i + 1}" / "inference"), input_spec=spec)
        scale(place, 3, 1 / FACTOR)


def answers(octet, model, folder, scratch):
    subprocess.run([octet, "run", "--model", model, "--input", folder / "x.npy", "--output", scratch / "y.npy"], check=True, stdout=subprocess.DEVNULL)
    return np.load(scratch / "y.npy").argmax(1)


def judge(octet, folder, kind, scratch):
    out = scratch / "int8"
    result = subprocess.run([octet, "ptq", "--model_path", folder / kind, "--data_dir", folder / "calibrate.npy", "--batch_num", "0", "--output_dir", out], capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    warnings = [line for line in result.stderr.splitlines() if "warning:" in line]
    same = answers(octet, folder / kind, folder, scratch) == answers(octet, out, folder, scratch)
    found = json.loads((out / "ptq_report.json").read_text())
    return {"agreement": float(same.mean()), "sqnr_db": found["outputs"][0]["sqnr_db"], "equalized": found.get("equalized", 0), "warning": " ".join(warnings)}


def measure(octet, made_folder, scratch, say):
    rows = []
    for name in SIZES:
        folder, healthy = made_folder(name), None
        for kind in ("healthy", "planted 1", "planted 2", "planted 3"):
            row = {"network": name, "kind": kind} | judge(octet, folder, kind, scratch)
            healthy = healthy or row
            named = "--equalize" in row["warning"] or "--keep-float" in row["warning"]
            row["good"] = not row["warning"] if kind == "healthy" else row["agreement"] >= 0.99 * healthy["agreement"] or named
            rows.append(row)
            say(f"planted: {json.dumps(row)}")
    return rows


def section(rows):
    lines = [[row["network"], row["kind"], f"{row['agreement']:.2%}", f"{row['sqnr_db']:.1f}", row["equalized"] or "", row["warning"],
              "yes" if row["good"] else "**no**"] for row in rows]
    return ("## A planted fault\n\nOne channel is multiplied by 1000 where it is made, at a linear or ReLU output, and divided by 1000 where it is read, so the function is the same. "
            "`octet ptq` with default flags keeps 99 % of the agreement that it has on the healthy network, or names the layer and the remedy; on the healthy one it "
            "warns of nothing. EfficientNet-Lite0 has its ImageNet weights, the others random ones, whose scores lie close together and which make small differences large: "
            "below 10 dB a notice says so; agreement is that of "
            "the largest score (of BiSeNetV2: at each pixel).\n\n" +
            report.table(["", "", "agreement:", "SQNR of the output, dB:", "places equalized:", "warning", "good"], lines))


if __name__ == "__main__":
    os.environ["FLAGS_enable_pir_api"] = "1"
    make(sys.argv[1], pathlib.Path(sys.argv[2]))
