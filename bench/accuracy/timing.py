"""Time and memory of octet ptq and of PaddleSlim's quant_post_static: mobilenet_v3_small at 224 x 224, from JPEG pictures."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
import report  # noqa: E402

PICTURES, FEW, MANY = 320, 32, 3200
ROUNDS = 3  # octet's time is the least of these


def watch(command):
    environment = os.environ | {"FLAGS_enable_pir_api": "0", "GLOG_minloglevel": "3"}
    result = subprocess.run([sys.executable, HERE / "watch.py", *map(str, command)], env=environment, capture_output=True, text=True, errors="replace")
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip().splitlines()[-1])
    return json.loads(result.stdout)


def measure(network, octet, paddle_pictures, say):
    """Rows {"tool", "algo", "pictures", "seconds", "cpu_seconds", "bytes"}; `paddle_pictures`: how many PaddleSlim's KL gets."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        def run(tool, algo, count, rounds=1):
            listed = network / f"list_{count}.txt"
            listed.write_text("".join(f"{i % PICTURES}.jpg 0\n" for i in range(count)))
            if tool == "octet":
                command = [octet, "ptq", "--model_path", network, "--data_dir", listed, "--output_dir", f"{scratch}/int8", "--batch_size", 10,
                           "--batch_num", 0, "--resize-size", 0, "--crop-size", 0, "--algo", algo]
            else:
                command = [sys.executable, HERE / "paddleslim_ptq.py", network, listed, algo, f"{scratch}/slim"]
            results = [watch(command) for _ in range(rounds)]
            rows.append({"tool": tool, "algo": algo, "pictures": count} | {field: min(r[field] for r in results) for field in results[0]})
            say(f"ptq: {json.dumps(rows[-1])}")

        for algo in ("auto", "KL", "hist"):
            run("octet", algo, PICTURES, ROUNDS)
        for count in (FEW, MANY):
            run("octet", "auto", count)
        run("PaddleSlim", "hist", PICTURES)
        if paddle_pictures != PICTURES:
            run("octet", "KL", paddle_pictures, ROUNDS)
        run("PaddleSlim", "KL", paddle_pictures)
    return rows


def ratios(rows):
    """For each of PaddleSlim's runs, octet's of the same pictures."""
    ours = {(row["algo"], row["pictures"]): row for row in rows if row["tool"] == "octet"}
    for row in rows:
        if row["tool"] != "octet":
            same = ours[row["algo"], row["pictures"]]
            yield (f"{row['algo']} with {row['pictures']} pictures: {row['seconds'] / same['seconds']:.0f} times as fast, "
                   f"{row['cpu_seconds'] / same['cpu_seconds']:.0f} times by CPU time")


def section(rows):
    lines = [[row["tool"], row["algo"], row["pictures"], f"{row['seconds']:.1f}", f"{row['cpu_seconds']:.1f}", f"{row['bytes'] / 1e6:.0f}"] for row in rows]
    return ("## Time and memory of quantizing\n\nmobilenet_v3_small at 224 x 224 from JPEG pictures, the whole process from start to end. octet's "
            f"numbers with PaddleSlim's counts of pictures are the least of {ROUNDS} runs, all others are of one. octet against PaddleSlim: {'; '.join(ratios(rows))}.\n\n" +
            report.table(["", "algo", "pictures:", "seconds:", "CPU seconds:", "peak MB:"], lines))
