"""Tables of what was measured."""

import statistics

import models

NAMES = {"octet": "octet", "openvino": "OpenVINO", "ort": "ONNX Runtime", "paddle": "Paddle", "ncnn": "ncnn", "mnn": "MNN"}


def table(heads, rows):
    """Markdown; a head that ends in a colon is of numbers."""
    lines = [heads, ["--:" if head.endswith(":") else "---" for head in heads], *rows]
    lines[0] = [head.rstrip(":") for head in heads]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def group_table(group):
    """All engines on one model with one number of threads."""
    rows = []
    for row in group["rows"]:
        first = [NAMES[row["engine"]], row["precision"]]
        if "failed" in row:
            rows.append(first + ["", "", "", "", f"failed: {row['failed']}"])
        else:
            rows.append(first + [f"{row['min_ms']:.2f}", f"{row['median_ms']:.2f}", f"{row['min_cpu_ms']:.2f}", f"{row['cosine']:.4f}",
                                 f"{row['undisturbed_runs']} of {row['runs']} runs undisturbed"])
    threads = group["threads"]
    title = f"### {group['model']}, {threads} thread{'s' if threads > 1 else ''}\n\n"
    if group["busy"] > 0.05:
        title += f"Other programs used {group['busy']:.0%} of the core(s) just before: compare within this table only.\n\n"
    return title + table(["engine", "precision", "min ms:", "median ms:", "min CPU ms:", "cosine to fp32 Paddle:", ""], rows)


def best_peer(group, precision):
    """The fastest run of any peer: for fp32 of those in fp32, for int8 of those in whichever precision is faster."""
    rows = [row for row in group["rows"] if "failed" not in row and row["engine"] != "octet"]
    if precision == "fp32":
        rows = [row for row in rows if row["precision"] == "fp32"]
    return min(rows, key=lambda row: row["min_ms"], default=None)


def summary_rows(groups):
    for group in groups.values():
        model = models.MODELS[group["model"]]
        for precision in model.precisions:
            ours = [row for row in group["rows"] if row["engine"] == "octet" and row["precision"] == precision]
            peer = best_peer(group, precision)
            if not ours or "failed" in ours[0] or not peer:
                continue
            ours = ours[0]
            ratio, median, cpu = (ours[field] / peer[field] for field in ("min_ms", "median_ms", "min_cpu_ms"))
            key = f"{precision} avx2" if precision == "int8" and not group.get("vnni") else precision
            required, goal = model.required[key], model.goal[key]
            verdict = "goal reached" if ratio <= goal else "reached" if ratio <= required else "not reached"
            yield [group["model"], precision, group["threads"], f"{ours['min_ms']:.2f}", f"{NAMES[peer['engine']]} {peer['precision']}",
                   f"{peer['min_ms']:.2f}", f"**{ratio:.2f}**", f"{required:.2f}", f"{goal:.2f}", verdict, f"{median:.2f}",
                   f"{cpu:.2f}" if group["threads"] == 1 else ""]


def summary(groups):
    heads = ["model", "precision", "threads:", "octet ms:", "best peer", "its ms:", "ratio:", "required:", "goal:", "", "by median:",
             "by CPU time:"]
    return table(heads, summary_rows(groups))


def load_table(groups):
    group = groups.get("mobilenet_v3_small/1")
    if not group:
        return ""
    rows = [[NAMES[row["engine"]], row["precision"], f"{min(row['load_ms']):.0f}", f"{statistics.median(row['load_ms']):.0f}"]
            for row in group["rows"] if row.get("load_ms")]
    return ("## From the start of loading to the first result\n\nmobilenet_v3_small, 1 thread, in a fresh process whose libraries are "
            "loaded and whose files are cached.\n\n" + table(["engine", "precision", "min ms:", "median ms:"], rows))


def memory_table(groups):
    group = groups.get("resnet50/1")
    if not group:
        return ""
    rows = [[NAMES[row["engine"]], row["precision"], f"{row['peak_bytes'] / 1e6:.0f}", f"{row['process_peak_bytes'] / 1e6:.0f}"]
            for row in group["rows"] if "peak_bytes" in row]
    return ("## Memory\n\nresnet50, 1 thread: the process's peak of resident memory. The first number is what the model added to the "
            "process once the engine was imported, the second all of the process, which for the peers has Python in it.\n\n" +
            table(["engine", "precision", "model and runs, MB:", "process, MB:"], rows))


def page(groups, stored):
    """bench/results/peers-*.md; `stored` is the file with every run."""
    order = list(models.MODELS)
    groups = dict(sorted(groups.items(), key=lambda item: (order.index(item[1]["model"]), item[1]["threads"])))
    versions, machines = {}, set()
    for group in groups.values():
        machines.add(f"{group['cpu']}; octet {group['octet']}, {group['date']}")
        for row in group["rows"]:
            if "version" in row:
                versions[NAMES[row["engine"]]] = row["version"].split("-")[0]
    parts = [
        f"# octet and other engines\n\nWritten by `make bench-peers`; {stored} has every run.\n",
        "Measured on: " + " and ".join(sorted(machines)) + ".\n",
        "Engines: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + ". int8 models of OpenVINO are made by its "
        "NNCF, of ONNX Runtime by its static quantizer, of octet by `octet ptq`, of Paddle by PaddleSlim; the packages of ncnn and MNN have no "
        "quantizer that works.\n",
        "One process for each engine and model, pinned to the same core(s); they take turns, round after round. Batch 1. Every engine "
        "runs in its best documented configuration: OpenVINO reads the Paddle model with its own reader, latency hint, one stream, "
        "static shapes; ONNX Runtime has all graph optimizations and bound inputs and outputs; Paddle its oneDNN kernels, graph and "
        "memory optimization; ncnn and MNN their converted fp32 models. bench/peers/worker.py has it in code.\n",
        "## Ratio of octet's time to the best peer's\n\nint8 is held against the best peer in whichever precision is its faster. "
        "Times and ratio are those of the fastest run, which other work on the machine disturbs least; the ratios of the medians, and of "
        "the least CPU time, are beside them.\n\n" + summary(groups),
        load_table(groups), memory_table(groups), "## Every engine\n", *map(group_table, groups.values()),
    ]
    return "\n".join(part for part in parts if part)
