#!/usr/bin/env python3
"""PyTorch on the cases of package benchmarks, on an NVIDIA GPU.

    python benchmarks/peers/pytorch_gpu.py [CASE ...] >torch.json
    WEFT_DEVICE=wgpu go test -run '^$' -bench . ./benchmarks >weft.txt
    go run ./benchmarks/report weft.txt torch.json

prints one line of JSON a case: the median of 20 times by the GPU's clock, in milliseconds, of 3 for transfers by the host's.
Cases are chosen by prefixes of their names. Products of float32 are computed in float32: TF32 is off. "PyTorch
compiled" is torch.compile of the same function.
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
GPU = "cuda"
SIDE = 8192


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device=GPU, dtype=dtype)


def gpu_time(f, times=20):
    """The median time of f in milliseconds, by the GPU's clock, once the GPU runs at speed."""
    start = time.perf_counter()
    while time.perf_counter() - start < 0.3:
        f()
        torch.cuda.synchronize()
    taken = []
    for _ in range(times):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        f()
        last.record()
        torch.cuda.synchronize()
        taken.append(first.elapsed_time(last))
    return statistics.median(taken)


def host_time(f, times):
    """The median time of f in milliseconds, by the host's clock; f waits for the GPU."""
    f()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        f()
        taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


def product(name, *shapes, dtype=torch.float32):
    yield name, lambda: [normal(*s, dtype=dtype) for s in shapes], torch.matmul


def on_gpu():
    """Yields name, function that makes the operands, function to time."""
    n = 100_000_000
    vectors, one = lambda: [normal(n), normal(n)], lambda: [normal(n)]
    matrix = lambda: [normal(SIDE, SIDE)]
    fma = lambda a, b: a * b + 42.0
    chain = lambda a, b: F.gelu(a * b + 1.0) * 2.0 - b
    for name, f in {"FMA/1e8": fma, "Chain/1e8": chain}.items():
        yield name, vectors, f
        yield name + " compiled", vectors, torch.compile(f)
    for name, f in {"Exp": torch.exp, "LogAbs": lambda x: x.abs().log(), "Tanh": torch.tanh, "Sin": torch.sin,
                    "Erf": torch.erf, "Sigmoid": torch.sigmoid}.items():
        yield f"Unary/{name}/1e8", one, f
    for name, f in {"Sum": torch.sum, "Max": torch.max, "ArgMax": torch.argmax, "Mean": torch.mean,
                    "Var": lambda x: x.var(correction=0)}.items():
        yield f"Reduce/{name}/1e8", one, f
    square = f"{SIDE}x{SIDE}"
    for name, f in {
        "ReduceAxis/SumColumns": lambda x: x.sum(0), "ReduceAxis/SumRows": lambda x: x.sum(1),
        "ReduceAxis/MaxRows": lambda x: x.amax(1),
        "ReduceAxis/VarColumns": lambda x: x.var(0, correction=0), "ReduceAxis/VarRows": lambda x: x.var(1, correction=0),
        "CumSum/Rows": lambda x: x.cumsum(1), "CumSum/Columns": lambda x: x.cumsum(0),
        "Softmax/Rows": lambda x: x.softmax(1), "Softmax/Columns": lambda x: x.softmax(0),
        "LayerNorm/Rows": lambda x: F.layer_norm(x, (SIDE,)), "Transpose": lambda x: x.t().contiguous(),
        "TopK/40": lambda x: x.topk(40),
    }.items():
        yield f"{name}/{square}", matrix, f
    yield "CumSum/Vector/1e8", one, lambda x: x.cumsum(0)
    yield f"Take/{8 * SIDE - 1}x{SIDE}", lambda: [normal(SIDE, SIDE), torch.randint(0, SIDE, (8 * SIDE - 1,), device=GPU)], lambda x, i: x[i]
    yield "Sort/Values/2^24", lambda: [normal(1 << 24)], lambda x: x.sort()
    yield "Sort/Order/2^24", lambda: [normal(1 << 24)], lambda x: x.argsort()
    for side in (64, 256, 512, 1024, 2048, 4096, 8192):
        yield from product(f"MatMul/{side}", (side, side), (side, side))
    for dtype in (torch.float16, torch.bfloat16):
        yield from product(f"MatMulTypes/{str(dtype)[6:]}/4096", (4096, 4096), (4096, 4096), dtype=dtype)
    for dtype in (torch.float32, torch.float16):
        for m in (1, 8, 32):
            yield from product(f"MatMulThin/{str(dtype)[6:]}/{m}x4096x4096", (m, 4096), (4096, 4096), dtype=dtype)
    yield from product("MatMulBatch/64x512x512", (64, 512, 512), (64, 512, 512))
    yield "Conv2d/32x64x56x56", lambda: [normal(32, 64, 56, 56), normal(64, 64, 3, 3)], lambda x, w: F.conv2d(x, w, padding=1)
    yield ("Attention/Causal/8x16x1024x64", lambda: [normal(8, 16, 1024, 64) for _ in range(3)],
           lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))


def on_host():
    """Yields name, function to time by the host's clock, how often."""
    host, device, small = torch.randn(25_000_000), normal(25_000_000), normal(16)

    def upload():
        host.to(GPU)
        torch.cuda.synchronize()

    yield "Transfer/Upload/100MB", upload, 3
    yield "Transfer/Download/100MB", lambda: device.cpu(), 3
    yield "Transfer/Item/4B", lambda: small[7].item(), 200
    yield "Tiny/AddRead/16", lambda: (small + small).cpu(), 200


def main():
    def report(name, ms):
        library = "PyTorch"
        if name.endswith(" compiled"):
            name, library = name.removesuffix(" compiled"), "PyTorch compiled"
        print(json.dumps({"case": name, "library": library, "ms": round(ms, 5)}), flush=True)

    chosen = tuple(sys.argv[1:]) or ("",)
    for name, operands, f in on_gpu():
        if name.startswith(chosen):
            x = operands()
            report(name, gpu_time(lambda: f(*x)))
            del x
    for name, f, times in on_host():
        if name.startswith(chosen):
            report(name, host_time(f, times))


main()
