"""A plain PyTorch script: MobileNetV3-Small or ResNet-50, SGD, batches that are in memory already. Prints images per second, the best of a few stretches.

    pytorch_side.py BATCH THREADS STEPS [--model resnet50] [--bfloat16] [--channels-last]

--bfloat16: under torch.autocast. --channels-last: network and pictures in that memory format.
"""
import argparse
import time

import torch
from torch import nn

# in, kernel, expanded, out, squeeze-excite, hard-swish, stride
BLOCKS = [(16, 3, 16, 16, True, False, 2), (16, 3, 72, 24, False, False, 2), (24, 3, 88, 24, False, False, 1),
          (24, 5, 96, 40, True, True, 2), (40, 5, 240, 40, True, True, 1), (40, 5, 240, 40, True, True, 1),
          (40, 5, 120, 48, True, True, 1), (48, 5, 144, 48, True, True, 1), (48, 5, 288, 96, True, True, 2),
          (96, 5, 576, 96, True, True, 1), (96, 5, 576, 96, True, True, 1)]


def conv_bn(inputs, outputs, kernel, stride=1, groups=1, act=None):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
              nn.BatchNorm2d(outputs, eps=0.001, momentum=0.01)]
    return nn.Sequential(*layers, *([act()] if act else []))


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        squeezed = max(8, int(channels / 4 + 4) // 8 * 8)
        self.fc = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, squeezed, 1), nn.ReLU(),
                                nn.Conv2d(squeezed, channels, 1), nn.Hardsigmoid())

    def forward(self, x):
        return x * self.fc(x)


class Block(nn.Module):
    def __init__(self, inputs, kernel, expanded, outputs, se, hard_swish, stride):
        super().__init__()
        act = nn.Hardswish if hard_swish else nn.ReLU
        self.residual = inputs == outputs and stride == 1
        self.body = nn.Sequential(
            *([conv_bn(inputs, expanded, 1, act=act)] if expanded != inputs else []),
            conv_bn(expanded, expanded, kernel, stride, expanded, act),
            *([SqueezeExcite(expanded)] if se else []), conv_bn(expanded, outputs, 1))

    def forward(self, x):
        return x + self.body(x) if self.residual else self.body(x)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(conv_bn(inputs, width, 1, act=nn.ReLU), conv_bn(width, width, 3, stride, act=nn.ReLU), conv_bn(width, outputs, 1))
        self.shortcut = conv_bn(inputs, outputs, 1, stride) if stride > 1 or inputs != outputs else nn.Identity()

    def forward(self, x):
        return nn.functional.relu(self.body(x) + self.shortcut(x))


def resnet50():
    layers, inputs = [conv_bn(3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(inputs, width, stride if i == 0 else 1))
            inputs = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def mobilenet_v3_small():
    return nn.Sequential(conv_bn(3, 16, 3, 2, act=nn.Hardswish), *(Block(*b) for b in BLOCKS),
                         conv_bn(96, 576, 1, act=nn.Hardswish), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(576, 1024), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1024, 1000))


def main():
    parser = argparse.ArgumentParser()
    for name in ("batch", "threads", "steps"):
        parser.add_argument(name, type=int)
    parser.add_argument("--model", choices=("mobilenet_v3_small", "resnet50"), default="mobilenet_v3_small")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    order = torch.channels_last if args.channels_last else torch.contiguous_format
    net = (resnet50() if args.model == "resnet50" else mobilenet_v3_small()).to(memory_format=order)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    x, labels = torch.randn(args.batch, 3, 224, 224).to(memory_format=order), torch.randint(1000, (args.batch,))
    best = 0.0
    for stretch in range(4):
        start = time.perf_counter()
        for _ in range(args.steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=args.bfloat16):
                loss = nn.functional.cross_entropy(net(x), labels)
            loss.backward()
            optimizer.step()
        best = max(best, args.steps * args.batch / (time.perf_counter() - start)) if stretch else 0.0
    print(f"{best:.2f}")


main()
