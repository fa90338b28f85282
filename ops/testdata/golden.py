#!/usr/bin/env python3
"""Writes the golden files that hold the definitions of package ops to NumPy's.

golden/NAME.npz has the results of operation NAME, one array for each operand type it takes
(float64, int8, ... bool). golden/inputs.npz has the operands, shared by the operations of one
number of operands: arrays "ARITY_TYPE", one row for each operand. golden/cast.npz has conversions,
arrays "FROM_TO" of the values in inputs "1_FROM". golden/promotion.txt has the promotion tables.

Floats are float64 alone: a definition is a function of float64 whatever the element type.
What NumPy lacks is computed with 60 digits and rounded once. Files are stored uncompressed and
without dates, so that a second run gives the same bytes.

    pip install numpy mpmath && python3 ops/testdata/golden.py
"""

import itertools
import math
import os
import zipfile
from fractions import Fraction

import mpmath as mp
import numpy as np

mp.mp.dps = 60
np.seterr(all="ignore")
rng = np.random.default_rng(1)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
inf, nan = math.inf, math.nan

INTS = ["bool", "uint8", "int8", "int32", "uint32", "int64"]

# ---- operands

POSITIVE = [
    0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-45, 1.1754943508222875e-38, 1e-30, 1e-16, 1e-10, 1e-8,
    1e-5, 1.2e-5, 1e-4, 0.001, 0.01, 0.1, 0.25, 0.49999997, 0.5, 0.7, 0.75, 0.9, 1 - 2**-53, 1.0, 1 + 2**-52, 1.1,
    1.5, 1.9, 2.0, 2.5, 3.0, math.pi / 4, math.pi / 2, math.pi, 3.5, 4.0, 5.0, 6.0, 7.5, 8.0, 9.0, 10.0, 13.24, 16.0, 20.0,
    20.625, 22.0, 26.5, 27.0, 37.0, 40.0, 43.67, 44.0, 44.36, 64.0, 88.0, 88.8, 100.0, 103.9, 500.0, 700.0, 709.7,
    710.0, 745.0, 1000.0, 1024.0, 4096.5, 1e5, 8388609.5, 1e10, 4503599627370497.5, 1e15, 1e20, 1e30,
    3.4028234663852886e38, 1e100, 1e300, 1.7976931348623157e308, inf,
]  # fmt: skip


def random_floats(n):
    """n numbers: small, middling, and of all magnitudes."""
    k = n // 3
    signs = rng.choice([-1.0, 1.0], n - 2 * k)
    return np.concatenate([rng.uniform(-1, 1, k), rng.normal(0, 8, k), signs * 10 ** rng.uniform(-20, 20, n - 2 * k)])


def grid(values, arity, dtype, extra):
    """All tuples of values, then the columns of extra."""
    tuples = np.array(list(itertools.product(values, repeat=arity)), dtype=dtype).T
    return np.ascontiguousarray(np.concatenate([tuples, extra.astype(dtype)], axis=1))


def int_values(t):
    if t == "bool":
        return [False, True]
    lo, hi = np.iinfo(t).min, np.iinfo(t).max
    small = [-100, -8, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100]
    return sorted({lo, lo + 1, hi - 1, hi, *(v for v in small if v >= lo)})


def inputs():
    two = [-inf, -1e30, -88.8, -7.0, -3.0, -1.0, -0.5, -0.0, 0.0, 1e-310, 0.3, 1.0, 2.0, 2.5, 7.0, 44.0, 1e30, inf, nan]
    three = [-inf, -2.5, -0.0, 0.0, 0.5, 1.0, 3e3, nan]
    one = np.concatenate([POSITIVE, -np.array(POSITIVE), [nan], random_floats(180)])
    ins = {
        "1_float64": one[None, :],
        "2_float64": grid(two, 2, "float64", random_floats(240).reshape(2, -1)),
        "3_float64": grid(three, 3, "float64", random_floats(240).reshape(3, -1)),
    }
    for t in INTS:
        full = int_values(t)
        lo, hi = (0, 2) if t == "bool" else (np.iinfo(t).min, np.iinfo(t).max)
        for arity, vals in [(1, full), (2, full), (3, full[:2] + full[len(full) // 2 :: 3] + full[-1:])]:
            extra = rng.integers(lo, hi, (arity, 30), dtype="int64", endpoint=t != "bool")
            ins[f"{arity}_{t}"] = grid(sorted(set(vals)), arity, t, extra)
    return ins


# ---- operations on float64 that NumPy lacks


def exact(f, below, above):
    """A function of mpmath numbers as one of an array. Far out its limits stand in: below and above."""

    def of(x):
        if math.isnan(x):
            return x
        if abs(x) > 1200:
            return (below if x < 0 else above)(x)
        if x == 0:
            return math.copysign(float(f(mp.mpf(0))), x) if f(mp.mpf(0)) == 0 else float(f(mp.mpf(0)))
        r = float(f(mp.mpf(x)))
        return math.copysign(0, below(x)) if r == 0 and x < 0 else r  # underflow

    return np.vectorize(of, otypes=["float64"])


def const(c):
    return lambda x: c


def same(x):
    return x


def phi(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def logistic(x):
    return 1 / (1 + mp.exp(-x))


def cubic(x):
    return mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3)


def hard_swish(x):
    return x * min(max(x + 3, 0), 6) / 6


SCALE, ALPHA = mp.mpf("1.0507009873554804934193349852946"), mp.mpf("1.6732632423543772848170429916717")

erf = exact(mp.erf, const(-1.0), const(1.0))
erfc = exact(mp.erfc, const(2.0), const(0.0))
gelu = exact(lambda x: x * phi(x), const(-0.0), same)
gelu_tanh = exact(lambda x: x * logistic(2 * cubic(x)), const(-0.0), same)
sigmoid = exact(logistic, const(0.0), const(1.0))
silu = exact(lambda x: x * logistic(x), const(-0.0), same)
softplus = exact(lambda x: mp.log1p(mp.exp(x)), const(0.0), same)
mish = exact(lambda x: x * mp.tanh(mp.log1p(mp.exp(x))), const(-0.0), same)
selu = exact(
    lambda x: SCALE * (x if x > 0 else ALPHA * mp.expm1(x)),
    const(float(-SCALE * ALPHA)),
    lambda x: x * float(SCALE),
)
hardswish = exact(hard_swish, const(-0.0), same)
expm1 = exact(mp.expm1, const(-1.0), const(inf))


def rsqrt(x):
    def of(v):
        if v > 0 and math.isfinite(v):
            return float(1 / mp.sqrt(mp.mpf(v)))
        return float(1 / np.sqrt(np.float64(v)))

    return np.vectorize(of, otypes=["float64"])(x)


def fma(x, y, z):
    def of(a, b, c):
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
            return float(np.float64(a) * np.float64(b) + np.float64(c))
        r = Fraction(a) * Fraction(b) + Fraction(c)
        return float(r) if r else a * b + c  # the sign of an exact zero

    return np.vectorize(of, otypes=["float64"])(x, y, z)


def lerp(x, y, z):
    def of(a, b, t):
        if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(t)):
            return float(np.float64(a) - np.float64(t) * np.float64(a) + np.float64(t) * np.float64(b))
        r = Fraction(a) + Fraction(t) * (Fraction(b) - Fraction(a))
        return float(r) if r else a - t * a + t * b

    return np.vectorize(of, otypes=["float64"])(x, y, z)


# ---- tables: an operation on floats, on integers and bools, or on both

FLOATS = {
    "sqrt": np.sqrt, "rsqrt": rsqrt, "cbrt": np.cbrt, "reciprocal": np.reciprocal, "exp": np.exp, "exp2": np.exp2,
    "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.asin, "acos": np.acos, "atan": np.atan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.asinh, "acosh": np.acosh, "atanh": np.atanh, "erf": erf,
    "erfc": erfc, "gelu": gelu, "gelu_tanh": gelu_tanh, "sigmoid": sigmoid, "silu": silu, "softplus": softplus,
    "leaky_relu": lambda x, a: np.where(x >= 0, x, a * x), "elu": lambda x, a: np.where(x > 0, x, a * expm1(x)),
    "selu": selu, "hard_swish": hardswish, "mish": mish, "div": np.divide, "atan2": np.atan2, "hypot": np.hypot,
    "copysign": np.copysign, "logaddexp": np.logaddexp, "lerp": lerp,
    "floor_div": np.floor_divide, "mod": np.mod, "fmod": np.fmod, "pow": np.power, "fma": fma,
    "relu": lambda x: np.maximum(x, 0.0), "relu6": lambda x: np.minimum(np.maximum(x, 0.0), 6.0),
}  # fmt: skip


def int_pow(x, y):
    """NumPy's, and for the negative powers it refuses 0, except of 1 and -1."""

    def of(a, b):
        if b >= 0:
            return pow(a, b, 1 << 64)
        return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0) % (1 << 64)

    r = np.array([of(int(a), int(b)) for a, b in zip(x, y)], dtype="uint64")
    return r.astype(x.dtype)


NUMBERS = {  # on integers, not bools
    "neg": np.negative, "sign": np.sign, "sub": np.subtract, "floor_div": np.floor_divide, "mod": np.mod,
    "fmod": np.fmod, "pow": int_pow, "fma": lambda x, y, z: x * y + z,
    "relu": lambda x: np.maximum(x, x.dtype.type(0)),
    "relu6": lambda x: np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6)),
    "shift_left": np.left_shift, "shift_right": np.right_shift,
}  # fmt: skip

BITS = {  # on integers and bools
    "bitwise_not": np.bitwise_not, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}  # fmt: skip

ANY = {
    "abs": np.abs, "square": lambda x: x * x, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": lambda x: x if x.dtype == bool else np.round(x), "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "logical_not": np.logical_not, "add": np.add, "mul": np.multiply,
    "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "equal": np.equal,
    "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal, "greater": np.greater,
    "greater_equal": np.greater_equal, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "logical_xor": np.logical_xor, "where": lambda c, x, y: np.where(c != 0, x, y), "clip": np.clip,
}  # fmt: skip

FLOATS |= {"neg": np.negative, "sign": np.sign, "sub": np.subtract}


def results(ins):
    """Operation to type to results."""
    out = {}
    for types, table in [(["float64"], FLOATS), (["float64"], ANY), (INTS, ANY), (INTS, BITS), (INTS[1:], NUMBERS)]:
        for (name, f), t in itertools.product(table.items(), types):
            arity = f.nin if isinstance(f, np.ufunc) else ARITY.get(name) or f.__code__.co_argcount
            operands = ins[f"{arity}_{t}"]
            out.setdefault(name, {})[t] = f(*operands)
    return out


ARITY = {name: 1 for name, f in FLOATS.items() if isinstance(f, np.vectorize)} | {"clip": 3, "abs": 1}


def casts(ins):
    """Conversions that NumPy defines: to floats, and between integers."""
    out = {}
    for a in [*INTS, "float64"]:
        for b in [*INTS, "float16", "float32", "float64"]:
            if a != "float64" or b.startswith("float"):
                out[f"{a}_{b}"] = ins[f"1_{a}"][0].astype(b)
    return out


def promotion():
    """Lines "A B RESULT" for arrays, and "A KIND RESULT" for an array beside a Python scalar."""
    types = [*INTS, "float16", "float32", "float64"]
    for a, b in itertools.product(types, types):
        yield f"{a} {b} {np.promote_types(a, b)}"
    for a, (kind, v) in itertools.product(types, {"weak_bool": True, "weak_int": 1, "weak_float": 1.0}.items()):
        yield f"{a} {kind} {np.result_type(np.zeros(1, a), v)}"


def save(name, arrays):
    with zipfile.ZipFile(os.path.join(here, name + ".npz"), "w") as z:
        for key, a in arrays.items():
            with z.open(zipfile.ZipInfo(key + ".npy", (1980, 1, 1, 0, 0, 0)), "w") as f:
                np.lib.format.write_array(f, np.ascontiguousarray(a), version=(1, 0))


def main():
    os.makedirs(here, exist_ok=True)
    ins = inputs()
    save("inputs", ins)
    save("cast", casts(ins))
    for name, arrays in results(ins).items():
        save(name, arrays)
    with open(os.path.join(here, "promotion.txt"), "w") as f:
        f.writelines(line + "\n" for line in promotion())


if __name__ == "__main__":
    main()
