"""Random parameters and statistics for Paddle's networks, with which signals neither fade nor explode."""
import numpy as np


def randomize(network, seed):
    generator = np.random.default_rng(seed)
    for key, value in network.state_dict().items():
        noise = generator.standard_normal(value.shape).astype("float32")
        if key.endswith("._scale"):
            continue
        if key.endswith("._variance"):
            value.set_value(np.exp(0.3 * noise))
        elif key.endswith("._mean") or key.endswith("bias"):
            value.set_value(0.2 * noise)
        elif len(value.shape) == 1:
            value.set_value(1 + 0.2 * noise)
        else:
            fan_in = np.prod(value.shape[1:]) if len(value.shape) == 4 else value.shape[0]
            value.set_value(noise * np.float32(np.sqrt(2 / fan_in)))
    network.eval()
