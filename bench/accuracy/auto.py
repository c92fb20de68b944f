"""Is `--algo auto` beaten by one of its own candidates? Each method for all tensors, with the rounding and the corrections that auto has, at 8, 6 and 4
bits of the weights, with 8 bits of the activations."""

import json
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import report  # noqa: E402

METHODS = ("KL", "hist", "mse", "emd", "avg", "abs_max", "ptf")
BITS = (8, 6, 4)


def same_answers(octet, model, network, expected, scratch, answers):
    return answers(octet, model, network, scratch).argmax(-1) == expected  # (views, pictures)


def against(found, auto):
    """By how much a candidate has more agreement than auto, and the standard error of that. Views of one picture are not independent of each other."""
    difference = (found.astype(float) - auto).mean(0)
    return float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(difference.size))


def measure(octet, name, network, scratch, answers, say):
    expected, rows = answers(octet, network, network, scratch).argmax(-1), []
    for bits in BITS:
        auto, stats = None, scratch / "stats.json"
        for algo in ("auto", *METHODS):
            data = ["--data_dir", network / "calibrate.npy", "--save_stats", stats] if algo == "auto" else ["--load_stats", stats]
            out = scratch / "int8"
            subprocess.run([octet, "ptq", "--model_path", network, *data, "--output_dir", out, "--algo", algo, "--round_type", "adaround", "--weight_bits", str(bits)],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            same = same_answers(octet, out, network, expected, scratch, answers)
            auto = same if auto is None else auto
            more, error = against(same, auto)
            rows.append({"network": name, "bits": bits, "algo": algo, "agreement": float(same.mean()), "more": more, "error": error,
                         "beats_auto": algo != "auto" and more > 2 * error})
            say(f"auto: {json.dumps(rows[-1])}")
    return rows


def section(rows):
    networks = list(dict.fromkeys(row["network"] for row in rows))
    lines = []
    for network in networks:
        for bits in BITS:
            found = {row["algo"]: row for row in rows if row["network"] == network and row["bits"] == bits}
            if not found:
                continue
            best = max((row for algo, row in found.items() if algo != "auto"), key=lambda row: row["more"])
            lines.append([network, bits, *(f"{found[algo]['agreement']:.2%}" if algo in found else "" for algo in ("auto", *METHODS)),
                          f"{best['algo']}: {best['more']:+.2%} ± {best['error']:.2%}", "**yes**" if any(row["beats_auto"] for row in found.values()) else "no"])
    return ("## auto and its candidates\n\nAgreement with fp32 when each threshold is found by one method, with adaround and corrected biases in all of them; "
            "bits are those of the weights. The last columns: the best candidate against auto, with the standard error of the paired difference (of pictures), and whether one is "
            "better by more than two of these.\n\n" + report.table(["", "bits:", *(f"{algo}:" for algo in ("auto", *METHODS)), "best - auto:", "beaten"], lines))
