"""The same with PaddleSeg 2.8.0's own network on Paddle, batches in memory. Prints images per second. The loss is Paddle's cross_entropy:
PaddleSeg's own multiplies floats by integers, which Paddle 3.3 refuses.

    paddleseg_bisenetv2.py BATCH THREADS STEPS [SIZE] [CLASSES]
"""
import os
import sys
import time

batch, threads, steps = map(int, sys.argv[1:4])
size, classes = (int(value) for value in (sys.argv[4:] + ["512", "19"][len(sys.argv[4:]):]))
os.environ["OMP_NUM_THREADS"] = str(threads)

import paddle  # noqa: E402  (reads the number of threads when it is imported)
from paddle.nn import functional  # noqa: E402
from paddleseg.models import BiSeNetV2  # noqa: E402

net = BiSeNetV2(classes)
optimizer = paddle.optimizer.Momentum(0.01, 0.9, net.parameters(), weight_decay=4e-5)
x, labels = paddle.randn([batch, 3, size, size]), paddle.randint(0, classes, [batch, size, size])
best = 0.0
for stretch in range(3):
    start = time.perf_counter()
    for _ in range(steps):
        sum(functional.cross_entropy(y, labels, axis=1, ignore_index=255) for y in net(x)).backward()
        optimizer.step()
        optimizer.clear_grad()
    best = max(best, steps * batch / (time.perf_counter() - start)) if stretch else 0.0
print(f"{best:.3f}")
