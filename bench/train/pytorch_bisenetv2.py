"""A plain PyTorch script: BiSeNetV2 with its auxiliary heads, SGD, batches that are in memory already. Prints images per second, the best of a few
stretches.

    pytorch_bisenetv2.py BATCH THREADS STEPS [SIZE] [CLASSES] [--bfloat16] [--channels-last]

--bfloat16: under torch.autocast. --channels-last: network and pictures in that memory format.
"""
import argparse
import time

import torch
from torch import nn
from torch.nn import functional


def conv_bn(inputs, outputs, kernel=3, stride=1, groups=1, relu=True):
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *([nn.ReLU()] if relu else []))


def depthwise(inputs, outputs, stride=1):
    return conv_bn(inputs, outputs, 3, stride, inputs, relu=False)


def resize(x, size):
    return functional.interpolate(x, size, mode="bilinear", align_corners=False)


class Keeping(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Sequential(conv_bn(channels, channels), depthwise(channels, 6 * channels), conv_bn(6 * channels, channels, 1, relu=False))

    def forward(self, x):
        return functional.relu(self.conv(x) + x)


class Halving(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.branch_1 = nn.Sequential(conv_bn(inputs, inputs), depthwise(inputs, 6 * inputs, 2), depthwise(6 * inputs, 6 * inputs),
                                      conv_bn(6 * inputs, outputs, 1, relu=False))
        self.branch_2 = nn.Sequential(depthwise(inputs, inputs, 2), conv_bn(inputs, outputs, 1, relu=False))

    def forward(self, x):
        return functional.relu(self.branch_1(x) + self.branch_2(x))


class Stem(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.conv = conv_bn(3, outputs, stride=2)
        self.left = nn.Sequential(conv_bn(outputs, outputs // 2, 1), conv_bn(outputs // 2, outputs, stride=2))
        self.right = nn.MaxPool2d(3, 2, 1)
        self.fuse = conv_bn(2 * outputs, outputs)

    def forward(self, x):
        x = self.conv(x)
        return self.fuse(torch.cat([self.left(x), self.right(x)], 1))


class Context(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)
        self.conv_1x1 = conv_bn(channels, channels, 1)
        self.conv_3x3 = nn.Conv2d(channels, channels, 3, 1, 1)

    def forward(self, x):
        return self.conv_3x3(self.conv_1x1(self.bn(functional.adaptive_avg_pool2d(x, 1))) + x)


class Aggregation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.db_keep = nn.Sequential(depthwise(channels, channels), nn.Conv2d(channels, channels, 1))
        self.db_down = nn.Sequential(conv_bn(channels, channels, stride=2, relu=False), nn.AvgPool2d(3, 2, 1, count_include_pad=False))
        self.sb_keep = nn.Sequential(depthwise(channels, channels), nn.Conv2d(channels, channels, 1), nn.Sigmoid())
        self.sb_up = conv_bn(channels, channels, relu=False)
        self.conv = conv_bn(channels, channels, relu=False)

    def forward(self, details, semantics):
        fine = self.db_keep(details)
        size = fine.shape[2:]
        gate = torch.sigmoid(resize(self.sb_up(semantics), size))
        coarse = self.db_down(details) * self.sb_keep(semantics)
        return self.conv(fine * gate + resize(coarse, size))


class Head(nn.Module):
    def __init__(self, inputs, classes):
        super().__init__()
        self.layers = nn.Sequential(conv_bn(inputs, inputs), nn.Dropout(0.1), nn.Conv2d(inputs, classes, 1))

    def forward(self, x, size):
        return resize(self.layers(x), size)


class BiSeNetV2(nn.Module):
    def __init__(self, classes):
        super().__init__()
        sizes = [(3, 64, 2), (64, 64, 1), (64, 64, 2), (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 128, 1)]
        self.detail = nn.Sequential(*(conv_bn(i, o, stride=s) for i, o, s in sizes))
        self.stem = Stem(16)
        self.stage3 = nn.Sequential(Halving(16, 32), Keeping(32))
        self.stage4 = nn.Sequential(Halving(32, 64), Keeping(64))
        self.stage5 = nn.Sequential(Halving(64, 128), Keeping(128), Keeping(128), Keeping(128))
        self.context = Context(128)
        self.aggregation = Aggregation(128)
        self.heads = nn.ModuleList(Head(channels, classes) for channels in (128, 16, 32, 64, 128))

    def forward(self, x):
        features = [self.stem(x)]
        for stage in (self.stage3, self.stage4, self.stage5):
            features.append(stage(features[-1]))
        features.insert(0, self.aggregation(self.detail(x), self.context(features[-1])))
        return [head(feature, x.shape[2:]) for head, feature in zip(self.heads, features)]


def main():
    parser = argparse.ArgumentParser()
    for name in ("batch", "threads", "steps"):
        parser.add_argument(name, type=int)
    parser.add_argument("size", type=int, nargs="?", default=512)
    parser.add_argument("classes", type=int, nargs="?", default=19)
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    order = torch.channels_last if args.channels_last else torch.contiguous_format
    net = BiSeNetV2(args.classes).to(memory_format=order)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=4e-5)
    x = torch.randn(args.batch, 3, args.size, args.size).to(memory_format=order)
    labels = torch.randint(args.classes, (args.batch, args.size, args.size))
    best = 0.0
    for stretch in range(3):
        start = time.perf_counter()
        for _ in range(args.steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=args.bfloat16):
                loss = sum(functional.cross_entropy(y, labels, ignore_index=255) for y in net(x))
            loss.backward()
            optimizer.step()
        best = max(best, args.steps * args.batch / (time.perf_counter() - start)) if stretch else 0.0
    print(f"{best:.3f}")


main()
