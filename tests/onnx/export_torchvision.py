"""Exports torchvision's networks with random weights: export_torchvision.py FOLDER [NETWORK]... Both of torch's exporters write them.

It runs in an environment with torch (requirements-torch.txt), not in that of the other tests.
"""
import pathlib
import sys
import warnings

import torch
import torchvision

DETECTION, SEGMENTATION = torchvision.models.detection, torchvision.models.segmentation
NETWORKS = {
    "mobilenet_v3_small": (lambda: torchvision.models.mobilenet_v3_small(), 224),
    "mobilenet_v3_large": (lambda: torchvision.models.mobilenet_v3_large(), 224),
    "resnet50": (lambda: torchvision.models.resnet50(), 224),
    "efficientnet_b0": (lambda: torchvision.models.efficientnet_b0(), 224),
    "convnext_tiny": (lambda: torchvision.models.convnext_tiny(), 224),
    "vit_b_16": (lambda: torchvision.models.vit_b_16(), 224),
    "deeplabv3": (lambda: SEGMENTATION.deeplabv3_mobilenet_v3_large(weights_backbone=None), 256),
    "lraspp": (lambda: SEGMENTATION.lraspp_mobilenet_v3_large(weights_backbone=None), 256),
    "ssdlite": (lambda: DETECTION.ssdlite320_mobilenet_v3_large(weights_backbone=None), 320),
}


class Tensors(torch.nn.Module):
    """The network with its answer as tensors, where it gives dictionaries."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        answer = self.network(x)
        return tuple(answer[0][key] for key in ("boxes", "scores", "labels")) if isinstance(answer, list) else answer


class Classes(Tensors):
    """Of segmentation: as the network's own forward, without its dictionaries."""

    def forward(self, x):
        features = self.network.backbone(x)
        scores = self.network.classifier(features["out"] if "out" in features else features)
        return torch.nn.functional.interpolate(scores, size=x.shape[-2:], mode="bilinear", align_corners=False)


class Heads(Tensors):
    """A detector up to its scores: torch.export can't follow how boxes are chosen."""

    def forward(self, x):
        answer = self.network.head(list(self.network.backbone(x).values()))
        return answer["bbox_regression"], answer["cls_logits"]


def wrapped(name, network, dynamo):
    if name in ("deeplabv3", "lraspp"):
        return Classes(network)
    return Heads(network) if name == "ssdlite" and dynamo else Tensors(network)


def spread(network, size):
    """Statistics as if the network had been trained: with fresh ones deep networks give the same answer to everything."""
    network.train()
    torch.manual_seed(1)
    for module in network.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.momentum = None
    with torch.no_grad():
        for _ in range(2):
            network(torch.rand(2, 3, size, size))
    for module in network.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.momentum = 0.1


def main():
    folder = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    for name, (build, size) in NETWORKS.items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        torch.manual_seed(0)
        network = build()
        if name == "vit_b_16":  # whose last layer begins with zeros
            torch.nn.init.normal_(network.heads.head.weight, std=0.02)
        elif name != "convnext_tiny":  # it has no batch norms
            spread(Heads(network) if name == "ssdlite" else network, size)
        network = network.eval()
        x = torch.rand(1, 3, size, size)
        for exporter, dynamo in (("script", False), ("dynamo", True)):
            path = folder / f"{name}_{exporter}.onnx"
            try:
                options = {"dynamo": dynamo, "external_data": False, "verbose": False} if dynamo else {"dynamo": False}
                torch.onnx.export(wrapped(name, network, dynamo).eval(), (x,), str(path), opset_version=18 if dynamo else 17, **options)
                print(f"{path.name}\t1x3x{size}x{size}", flush=True)
            except Exception as error:  # torch can't export every network in both ways
                print(f"{path.name}\t{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}", flush=True)


if __name__ == "__main__":
    main()
