#!/usr/bin/env python3
"""NumPy, PyTorch and gonum on the cases of BenchmarkPeer, on the CPU, beside weft.

    go test -c -o weft.test ./benchmarks
    python benchmarks/peers/numpy_pytorch_cpu.py --weft ./weft.test [--threads 1,2] [--rounds 3] [CASE ...] >peers.json
    go run ./benchmarks/report peers.json

prints one line of JSON a case, library and number of threads: the median of the rounds' medians, and the least time, in
milliseconds. A round times weft, gonum, NumPy and PyTorch one after the other, so that whatever else the machine does falls
on all of them, each when the threads of the one before have gone to sleep. Every call allocates its result. A case is named by
a prefix. A process of its own times each number of threads; OpenBLAS chooses the kernels that it has for the processor.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
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


def mnist():
    """The network of models/mnist, with other weights: they change no time."""
    nn = torch.nn
    layers = []
    for c_in, c_out in (1, 12), (12, 24), (24, 48):
        layers += [nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(48 * 3 * 3, 10)).eval().requires_grad_(False)


def products():
    """Yields as cases does."""
    product = lambda x, y: x @ y
    square = lambda n, dtype: lambda: (f32(n, n).astype(dtype), f32(n, n).astype(dtype))
    row = lambda n: lambda: (f32(1, n), f32(n, n))
    for n in 256, 512, 1024, 2048:
        yield "MatMul/float32/%d" % n, square(n, np.float32), product, product
    yield "MatMul/float64/1024", square(1024, np.float64), product, product
    for dtype in "float32", "float64":
        yield "MatMulTransposed/%s/1024" % dtype, square(1024, dtype), lambda x, y: x @ y.T, lambda x, y: x @ y.T
    yield "MatMulBatch/512x32x32", lambda: (f32(512, 32, 32), f32(512, 32, 32)), product, product
    yield "MatMulRow/1024", row(1024), product, product
    yield "MatMulRow/4096", row(4096), product, product
    yield "MatMulRowTransposed/1024", row(1024), lambda x, y: x @ y.T, lambda x, y: x @ y.T
    for n, channels, side, kernel in (8, 64, 56, 3), (8, 64, 56, 1), (8, 256, 14, 3):
        yield ("Conv2d/%dx%dx%dx%d/%dx%d" % (n, channels, side, side, kernel, kernel),
               lambda: (f32(n, channels, side, side), f32(channels, channels, kernel, kernel)),
               None, lambda x, w: F.conv2d(x, w, padding="same"))
    yield "MNIST/256", lambda: (f32(256, 1, 28, 28),), None, mnist() if torch else None
    for shape in (1, 8, 512, 64), (8, 12, 128, 64):
        yield ("Attention/%dx%dx%dx%d" % shape, lambda: (f32(*shape), f32(*shape), f32(*shape)),
               None, lambda q, k, v: F.scaled_dot_product_attention(q, k, v))


def cases():
    """Yields name, function that makes the operands, NumPy's function, PyTorch's (None where there is none)."""
    yield from products()
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
    yield "Chain", pair, None, lambda x, y: F.gelu(x * y + 1) * 2 - y
    yield "CumSum", one, np.cumsum, lambda x: torch.cumsum(x, 0)
    yield "CumSumRows", matrix, lambda x: x.cumsum(1), lambda x: x.cumsum(1)
    yield "CumSumColumns", matrix, lambda x: x.cumsum(0), lambda x: x.cumsum(0)
    yield "Tiny", lambda: (f32(16), f32(16)), lambda x, y: x + y, lambda x, y: x + y


GONUM = re.compile(r"MatMul/|MatMulTransposed/float64")  # cases that it has

FREQUENT = {"Tiny": 7000, "MatMul/float32/256": 200, "MatMul/float32/512": 30, "MatMulBatch": 200, "MatMulRow": 300}


def calls(name, library):
    """How often a round calls a case."""
    n = next((n for prefix, n in FREQUENT.items() if name.startswith(prefix)), 7)
    return min(n, 3) if library == "gonum" else n


def timed(f, args, n):
    """The least time of n calls, and the median, in milliseconds."""
    f(*args)
    times = []
    for _ in range(n):
        start = time.perf_counter()
        f(*args)
        times.append((time.perf_counter() - start) * 1e3)
    return min(times), statistics.median(times)


def benchmark(binary, of, name, threads, n):
    """Runs a benchmark in Go, which reports the least and the median time of its calls."""
    out = subprocess.run(
        [binary, "-test.run=^$", "-test.bench=^%s$/^%s$" % (of, name.replace("/", "$/^")),
         "-test.benchtime=%dx" % n, "-test.cpu=%d" % threads],
        capture_output=True, text=True, check=False).stdout
    found = [re.search(r"([0-9.e+-]+) " + m, out) for m in ("least-ms", "median-ms")]
    if not all(found):
        raise SystemExit("%s/%s:\n%s" % (of, name, out))
    return tuple(float(f.group(1)) for f in found)


def measure(options, threads):
    """Prints the times of the cases."""
    if torch:
        torch.set_num_threads(threads)
    for name, make, numpy, pytorch in cases():
        if options.cases and not name.startswith(tuple(options.cases)):
            continue
        args = make()
        runs = {}
        if options.weft:
            runs["weft"] = lambda n: benchmark(options.weft, "BenchmarkPeer", name, threads, n)
            if GONUM.match(name):
                runs["gonum"] = lambda n: benchmark(options.weft, "BenchmarkPeerGonum", name, threads, n)
        if numpy:
            runs["NumPy"] = lambda n: timed(numpy, args, n)
        if torch and pytorch:
            tensors = [torch.from_numpy(a) for a in args]
            runs["PyTorch"] = lambda n: timed(pytorch, tensors, n)
        times = {library: [] for library in runs}
        for _ in range(options.rounds):
            for library, run in runs.items():
                time.sleep(0.2)  # for which the threads of OpenBLAS and OpenMP look for more work
                times[library].append(run(calls(name, library)))
        for library, t in times.items():
            print(json.dumps({
                "case": name, "library": library, "threads": threads,
                "ms": round(statistics.median(m for _, m in t), 4), "least": round(min(l for l, _ in t), 4),
            }), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", help="test binary of package benchmarks")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    own = "WEFT_PEER_THREADS"  # of a process for one number of threads
    if own in os.environ:
        measure(options, int(os.environ[own]))
        return
    for threads in options.threads.split(","):
        environment = dict(os.environ, WEFT_DEVICE="cpu", OPENBLAS_NUM_THREADS=threads, **{own: threads})
        environment.pop("OPENBLAS_CORETYPE", None)
        subprocess.run([sys.executable] + sys.argv, env=environment, check=True)


if __name__ == "__main__":
    main()
