// The functions of neural networks, each with its limit at the infinities and without overflow on the way.

// exp_minus_square_ is exp(-s·x²)·2ⁿ for s·x² up to 103, s of few bits and n the boost of that; of NaN anything. What x² loses
// to rounding, it would magnify.
fn exp_minus_square_(x: f32, s: f32, n: i32) -> f32 {
    let h = x * x;
    let u = upper_(x);
    let l = (u * u - h) + (x - u) * (x + u);
    let e = exp_normal_(-s * h, n);
    return e - e * (s * l);
}

// erfcx_ is exp(x²)·erfc x for x in [0, 10.1].
fn erfcx_(x: f32) -> f32 {
    let t = (x - 4.0) / (x + 4.0);
    var p = (-0.00044222965 * t - 0.00045932058) * t + 0.0057846904;
    p = ((p * t - 0.015911693) * t + 0.036918245) * t - 0.06649871;
    p = ((p * t + 0.093756594) * t - 0.101010256) * t + 0.0680968;
    p = ((p * t + 0.015377789) * t - 0.13962114) * t + 1.2329952;
    return p / (1.0 + 2.0 * x);
}

// erf_near_ is erf x for |x| <= 1.
fn erf_near_(x: f32) -> f32 {
    let w = x * x;
    var p = (7.91386e-5 * w - 0.0008029054) * w + 0.005190576;
    p = ((p * w - 0.026855066) * w + 0.112836175) * w - 0.3761263;
    return x + x * (p * w + 0.12837917);
}

fn erf_(x: f32) -> f32 {
    let a = min(abs(x), 4.0); // 1 beyond, to the last place
    let r = select(1.0 - exp_minus_square_(a, 1.0, 0) * erfcx_(a), erf_near_(a), a < 1.0);
    return keep_nan_(copysign_(r, x), x);
}

fn erfc_(x: f32) -> f32 {
    let a = min(abs(x), 10.1); // 0 beyond
    let n = boost_(a * a);
    let e = exp_minus_square_(a, 1.0, n) * erfcx_(a) * pow2_(-n);
    let r = select(select(e, 2.0 - e, x < 0.0), 1.0 - erf_near_(clamp(x, -1.0, 1.0)), a < 0.5);
    return keep_nan_(r, x);
}

// boost_ is the power of two that exp(-z) is kept too large by until it has met its factor: as a subnormal it would
// lose bits. It is no constant, which a compiler would bring forward.
fn boost_(z: f32) -> i32 { return select(0, 32, z > 60.0); }

// gelu_ is x·erfc(-x/√2)/2, and of positive x what that leaves of x.
fn gelu_(x: f32) -> f32 {
    let a = min(abs(x), 14.3); // the tail is 0 beyond
    let n = boost_(0.5 * a * a);
    let e = 0.5 * exp_minus_square_(a, 0.5, n) * erfcx_(a * 0.70710678);
    return keep_nan_(select(x * (1.0 - e * pow2_(-n)), (-a * e) * pow2_(-n), x < 0.0), x);
}

// logistic_ is x/(1 + exp(-z)).
fn logistic_(x: f32, z: f32) -> f32 {
    let n = boost_(abs(z));
    let e = exp_scale_(-abs(z), n);
    let d = 1.0 + e * pow2_(-n);
    return select(div_(x, d), div_(x * e, d) * pow2_(-n), z < 0.0);
}

fn sigmoid_(x: f32) -> f32 { return keep_nan_(logistic_(1.0, x), x); }

// silu_ is 0 below -120, in float32.
fn silu_(x: f32) -> f32 { return keep_nan_(logistic_(max(x, -120.0), x), x); }

// gelu_tanh_ uses (1 + tanh u)/2 = 1/(1 + exp(-2u)). Beyond 15 it is x, or 0.
fn gelu_tanh_(x: f32) -> f32 {
    let c = clamp(x, -15.0, 15.0);
    return keep_nan_(logistic_(max(x, -15.0), c * (1.59576912 + 0.071354816 * (c * c))), x);
}

fn softplus_(x: f32) -> f32 { return keep_nan_(max(x, 0.0) + log1p_(exp_(-abs(x))), x); }

// mish_ uses tanh(log(1 + n)) = n(n + 2)/(n(n + 2) + 2) for n = eˣ, divided through by n² for positive x.
fn mish_(x: f32) -> f32 {
    let up = boost_(abs(x));
    let large = exp_scale_(-abs(x), up);
    let e = large * pow2_(-up);
    let n = large * (e + 2.0);
    let m = 1.0 + 2.0 * e;
    let below = div_(max(x, -120.0) * n, n * pow2_(-up) + 2.0) * pow2_(-up);
    return keep_nan_(select(div_(x * m, m + 2.0 * e * e), below, x < 0.0), x);
}

fn selu_(x: f32) -> f32 {
    return select(1.75809934 * expm1_(x), 1.05070099 * x, x > 0.0);
}

fn hard_swish_(x: f32) -> f32 {
    let c = clamp(x, -3.0, 3.0);
    return keep_nan_(select(c * (c + 3.0) / 6.0, x, x > 3.0), x);
}
