package tensor

import "github.com/weft-go/weft/ops"

// Activations of neural networks. They never give NaN for a finite operand. All but ReLU and ReLU6 take
// integers as Float32.

// ReLU returns the greater of t and 0; NaN stays NaN. Integers and floats.
func (t *Tensor) ReLU() *Tensor { return monadic(ops.ReLU, t) }

// ReLU6 returns t limited to [0, 6]; NaN stays NaN. Integers and floats.
func (t *Tensor) ReLU6() *Tensor { return monadic(ops.ReLU6, t) }

// GELU returns t·Φ(t) with Φ the normal distribution: t/2 · erfc(-t/√2). (Hendrycks and Gimpel,
// "Gaussian error linear units", 2016.)
func (t *Tensor) GELU() *Tensor { return monadic(ops.GELU, t) }

// GELUTanh returns the approximation t/2 · (1 + tanh(√(2/π)·(t + 0.044715t³))) of [Tensor.GELU].
func (t *Tensor) GELUTanh() *Tensor { return monadic(ops.GELUTanh, t) }

// Sigmoid returns 1/(1 + e⁻ᵗ).
func (t *Tensor) Sigmoid() *Tensor { return monadic(ops.Sigmoid, t) }

// SiLU returns t·Sigmoid(t), also called swish.
func (t *Tensor) SiLU() *Tensor { return monadic(ops.SiLU, t) }

// Softplus returns log(1 + eᵗ).
func (t *Tensor) Softplus() *Tensor { return monadic(ops.Softplus, t) }

// Mish returns t·tanh(Softplus(t)).
func (t *Tensor) Mish() *Tensor { return monadic(ops.Mish, t) }

// SELU returns ELU with the scale and alpha that keep a network's activations normalised. (Klambauer et
// al., "Self-normalizing neural networks", 2017.)
func (t *Tensor) SELU() *Tensor { return monadic(ops.SELU, t) }

// HardSwish returns t·min(max(t + 3, 0), 6)/6: 0 below -3, t above 3. (Howard et al., "Searching for
// MobileNetV3", 2019.)
func (t *Tensor) HardSwish() *Tensor { return monadic(ops.HardSwish, t) }

// LeakyReLU returns t where that is at least 0, and slope·t elsewhere; 0.01 is the usual slope.
func (t *Tensor) LeakyReLU(slope float64) *Tensor { return dyadicScalar(ops.LeakyReLU, t, slope) }

// ELU returns t where that is positive, and alpha·(eᵗ − 1) elsewhere; 1 is the usual alpha. (Clevert,
// Unterthiner and Hochreiter, "Fast and accurate deep network learning by ELUs", 2016.)
func (t *Tensor) ELU(alpha float64) *Tensor { return dyadicScalar(ops.ELU, t, alpha) }
