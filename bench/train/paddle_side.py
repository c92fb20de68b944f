"""The same with Paddle: paddle.vision's MobileNetV3-Small, batches in memory. Prints images per second.

    paddle_side.py BATCH THREADS STEPS
"""
import os
import sys
import time

batch, threads, steps = map(int, sys.argv[1:4])
os.environ["OMP_NUM_THREADS"] = str(threads)

import paddle  # noqa: E402  (reads the number of threads when it is imported)

net = paddle.vision.models.mobilenet_v3_small()
optimizer = paddle.optimizer.Momentum(0.01, 0.9, net.parameters(), weight_decay=1e-4)
x, labels = paddle.randn([batch, 3, 224, 224]), paddle.randint(0, 1000, [batch])
best = 0.0
for stretch in range(4):
    start = time.perf_counter()
    for _ in range(steps):
        paddle.nn.functional.cross_entropy(net(x), labels).backward()
        optimizer.step()
        optimizer.clear_grad()
    best = max(best, steps * batch / (time.perf_counter() - start)) if stretch else 0.0
print(f"{best:.2f}")
