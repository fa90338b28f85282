#!/usr/bin/env python3
"""Prints the polynomials of the prelude, lowest power first, with their greatest error before rounding.

Each is a fit on Chebyshev nodes of g in f = head + factor·g, so weighted that the error is that of f, relative
to f. Coefficients are rounded to float32 one by one, the rest being fitted anew each time.

    pip install numpy mpmath && python3 shaders/coefficients.py
"""

import mpmath as mp
import numpy as np

mp.mp.dps = 40
NODES = 200


def fit(name, f, head, factor, lo, hi, n, variable=lambda x: x):
    """Fits g(v) = (f - head)/factor with n coefficients, v being variable(x) for x in [lo, hi]."""
    mid, half = mp.mpf(lo + hi) / 2, mp.mpf(hi - lo) / 2
    xs = [mid + half * mp.cos(mp.pi * (k + mp.mpf("0.5")) / NODES) for k in range(NODES)]
    xs = [x for x in xs if f(x) != 0]
    v = np.array([float(variable(x)) for x in xs], dtype=np.longdouble)
    g = np.array([float((f(x) - head(x)) / factor(x)) for x in xs], dtype=np.longdouble)
    w = np.array([float(factor(x) / f(x)) for x in xs], dtype=np.longdouble)
    fixed, rest = [], g.copy()
    for k in range(n):
        a = np.stack([v**p for p in range(k, n)], axis=1)
        c = np.linalg.lstsq((a * w[:, None]).astype(float), (rest * w).astype(float), rcond=None)[0]
        fixed.append(np.float32(c[0]))
        rest = rest - np.longdouble(fixed[-1]) * v**k
    print(f"{name:12} error {float(np.max(np.abs(rest * w))):.1e}: {', '.join(str(c) for c in fixed)}")


def main():
    zero, one, same, square = (lambda x: 0), (lambda x: 1), (lambda x: x), (lambda x: x * x)
    ln2, sqrt2, pi = mp.log(2), mp.sqrt(2), mp.pi

    def odd(name, f, hi, n):
        """f(x) = x + x³·g(x²)"""
        fit(name, f, same, lambda x: x**3, mp.mpf("1e-4"), hi, n, square)

    fit("exp", mp.exp, lambda x: 1 + x, square, -ln2 / 2, ln2 / 2, 5)
    fit("exp2", lambda x: mp.power(2, x), one, same, -0.5, 0.5, 6)
    fit("expm1", mp.expm1, same, square, -ln2 / 2, ln2 / 2, 5)
    fit("log1p", mp.log1p, lambda x: x - x * x / 2, lambda x: x**3, sqrt2 / 2 - 1, sqrt2 - 1, 9)
    fit("atanh (pow)", mp.atanh, lambda x: x + x**3 / 3, lambda x: x**5, mp.mpf("1e-4"), 0.1716, 3, square)
    odd("sin", mp.sin, pi / 4, 3)
    fit("cos", mp.cos, lambda x: 1 - x * x / 2, lambda x: x**4, 0, pi / 4, 3, square)
    odd("tan", mp.tan, pi / 4, 7)
    odd("asin", mp.asin, mp.mpf("0.5"), 5)
    odd("atan", mp.atan, sqrt2 - 1, 5)
    odd("sinh", mp.sinh, 1, 4)
    odd("tanh", mp.tanh, mp.mpf("0.625"), 5)
    odd("asinh", mp.asinh, 1, 8)
    odd("atanh", mp.atanh, mp.mpf("0.5"), 7)
    fit("erf", mp.erf, same, same, mp.mpf("1e-4"), 1, 7, square)
    fit(
        "erfcx", lambda x: (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x), zero, one, 0, mp.mpf("10.1"), 12,
        lambda x: (x - 4) / (x + 4),
    )  # fmt: skip


if __name__ == "__main__":
    main()
