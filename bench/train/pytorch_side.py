"""A plain PyTorch script: MobileNetV3-Small, SGD, batches that are in memory already. Prints images per second, the best of a few stretches.

    pytorch_side.py BATCH THREADS STEPS
"""
import sys
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


def main():
    batch, threads, steps = map(int, sys.argv[1:4])
    torch.set_num_threads(threads)
    net = nn.Sequential(conv_bn(3, 16, 3, 2, act=nn.Hardswish), *(Block(*b) for b in BLOCKS),
                        conv_bn(96, 576, 1, act=nn.Hardswish), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(576, 1024), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1024, 1000))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    x, labels = torch.randn(batch, 3, 224, 224), torch.randint(1000, (batch,))
    best = 0.0
    for stretch in range(4):
        start = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), labels).backward()
            optimizer.step()
        best = max(best, steps * batch / (time.perf_counter() - start)) if stretch else 0.0
    print(f"{best:.2f}")


main()
