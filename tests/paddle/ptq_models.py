"""What PaddleSlim's post-training quantization makes of the same models and batches, for each algorithm: the scales that octet must find."""

import quant_models

# model -> source, algo, onnx_format. KL takes minutes of Python for all but the small net.
CASES = {
    "small_kl_onnx": ("small", "KL", True),
    "small_kl_old": ("small", "KL", False),
    "mobilenet_v3_small_hist_onnx": ("mobilenet_v3_small", "hist", True),
    "ocr_cls_hist_onnx": ("ocr_cls", "hist", True),
}
CASES |= {f"small_{algo}_onnx": ("small", algo, True) for algo in ("hist", "mse", "emd", "avg", "abs_max", "ptf")}
CASES |= {f"small_{algo}_old": ("small", algo, False) for algo in ("mse", "emd", "ptf")}  # these look at values, which older files clip otherwise
CASES |= {f"{source}_{algo}_onnx": (source, algo, True)
          for source in ("mobilenet_v3_small", "ocr_cls") for algo in ("mse", "emd", "avg", "abs_max")}

MODELS = {name: quant_models.post_training(*case) for name, case in CASES.items() if name not in quant_models.MODELS}
