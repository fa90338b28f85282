#!/usr/bin/env python3
"""NumPy and PyTorch on the cases of BenchmarkPeer, on the CPU, beside weft.

    go test -c -o weft.test ./benchmarks
    python benchmarks/peers/arrays.py --weft ./weft.test [--threads 1,2] [--rounds 3] [CASE ...]

prints one line of JSON a case, library and number of threads: the median of the rounds' medians, and the least time, in
milliseconds. A round times weft, NumPy and PyTorch one after the other, so that whatever else the machine does falls on all
of them. Every call allocates its result. A case is named by a prefix; NumPy has no threads for any of them.
"""
import argparse
import json
import re
import statistics
import subprocess
import time

import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

SIDE = 4096
rng = np.random.default_rng(1)


def f32(*shape):
    return rng.standard_normal(shape, dtype=np.float32)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, w, b):
    m = x.mean(-1, keepdims=True)
    return (x - m) / np.sqrt(x.var(-1, keepdims=True) + np.float32(1e-5)) * w + b


def rms_norm(x, w, _):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-5)) * w


def log_softmax(x):
    d = x - x.max(-1, keepdims=True)
    return d - np.log(np.exp(d).sum(-1, keepdims=True))


def vector():
    return f32(10_000_000)


def cases():
    """Yields name, function that makes the operands, NumPy's function, PyTorch's (None where there is none)."""
    pair = lambda: (vector(), vector())
    one = lambda: (vector(),)
    million = lambda: (f32(1_000_000),)
    wide = lambda: (f32(1_000_000).astype(np.float64),)
    ints = lambda: (rng.integers(-2**31, 2**31, 1_000_000, dtype=np.int32),)
    rows = lambda: (f32(4096, 1024),)
    layer = lambda: (f32(4096, 1024), f32(1024), f32(1024))
    matrix = lambda: (f32(SIDE, SIDE),)
    table = lambda: (f32(65536, 128), rng.integers(0, 65536, 65536))
    yield "Sort/float32", million, np.sort, lambda x: torch.sort(x).values
    yield "Sort/float64", wide, np.sort, lambda x: torch.sort(x).values
    yield "Sort/int32", ints, np.sort, lambda x: torch.sort(x).values
    yield "ArgSort/float32", million, np.argsort, lambda x: torch.argsort(x)
    yield "Softmax", rows, softmax, lambda x: torch.softmax(x, -1)
    yield "LogSoftmax", rows, log_softmax, lambda x: torch.log_softmax(x, -1)
    yield "LayerNorm", layer, layer_norm, lambda x, w, b: F.layer_norm(x, (1024,), w, b)
    yield "RMSNorm", layer, rms_norm, lambda x, w, _: F.rms_norm(x, (1024,), w, 1e-5)
    yield "Transpose", matrix, lambda x: x.T.copy(), lambda x: x.t().contiguous()
    yield "Gather", table, lambda x, i: x[i], lambda x, i: x[i]
    yield "Sum", one, np.sum, lambda x: torch.sum(x)
    yield "Max", one, np.max, lambda x: torch.max(x)
    yield "ArgMax", one, np.argmax, lambda x: torch.argmax(x)
    yield "Mean", one, np.mean, lambda x: torch.mean(x)
    yield "Var", one, np.var, lambda x: torch.var(x, correction=0)
    yield "SumColumns", matrix, lambda x: x.sum(0), lambda x: x.sum(0)
    yield "SumRows", matrix, lambda x: x.sum(1), lambda x: x.sum(1)
    yield "Exp", one, np.exp, lambda x: torch.exp(x)
    yield "Tanh", one, np.tanh, lambda x: torch.tanh(x)
    yield "Log", lambda: (np.abs(vector()),), np.log, lambda x: torch.log(x)
    yield "Sigmoid", one, lambda x: 1 / (1 + np.exp(-x)), lambda x: torch.sigmoid(x)
    yield "Erf", one, None, lambda x: torch.erf(x)
    yield "FMA", pair, lambda x, y: x * y + np.float32(42), lambda x, y: x * y + 42
    yield "CumSum", one, np.cumsum, lambda x: torch.cumsum(x, 0)
    yield "CumSumRows", matrix, lambda x: x.cumsum(1), lambda x: x.cumsum(1)
    yield "CumSumColumns", matrix, lambda x: x.cumsum(0), lambda x: x.cumsum(0)
    yield "Tiny", lambda: (f32(16), f32(16)), lambda x, y: x + y, lambda x, y: x + y


def calls(name):
    """How often a round calls a case."""
    return 7000 if name == "Tiny" else 7


def timed(f, args, n):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        f(*args)
        times.append((time.perf_counter() - start) * 1e3)
    return times


def weft(binary, name, threads):
    """Runs BenchmarkPeer, which reports the least and the median time of its calls."""
    out = subprocess.run(
        [binary, "-test.run=^$", "-test.bench=^BenchmarkPeer$/^" + name.replace("/", "$/^") + "$",
         "-test.benchtime=%dx" % calls(name), "-test.cpu=%d" % threads],
        capture_output=True, text=True, check=False).stdout
    found = [re.search(r"([0-9.e+-]+) " + m, out) for m in ("least-ms", "median-ms")]
    if not all(found):
        raise SystemExit("BenchmarkPeer/%s:\n%s" % (name, out))
    return [float(f.group(1)) for f in found]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", help="test binary of package benchmarks")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    for name, make, numpy, pytorch in cases():
        if options.cases and not any(name.startswith(c) for c in options.cases):
            continue
        args = make()
        for threads in map(int, options.threads.split(",")):
            runs = {}
            if options.weft:
                runs["weft"] = lambda: weft(options.weft, name, threads)
            if numpy:
                runs["numpy"] = lambda: timed(numpy, args, calls(name))
            if torch and pytorch:
                torch.set_num_threads(threads)
                tensors = [torch.from_numpy(a) for a in args]
                runs["pytorch"] = lambda: timed(pytorch, tensors, calls(name))
            times = {}
            for _ in range(options.rounds):
                for library, run in runs.items():
                    t = run()
                    times.setdefault(library, []).append((min(t), t[-1] if library == "weft" else statistics.median(t)))
            for library, t in times.items():
                print(json.dumps({
                    "case": name, "library": library, "threads": threads,
                    "ms": round(statistics.median(m for _, m in t), 4), "least": round(min(l for l, _ in t), 4),
                }), flush=True)


if __name__ == "__main__":
    main()
