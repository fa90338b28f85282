//go:build !amd64 && !arm64

package asm

// Sets returns the instruction sets that the processor has, the best last.
func Sets() []Set { return []Set{Generic} }

// Kernels returns the kernels written for s.
func (Set) Kernels() []Kernel { return nil }

// Loops returns the loops written for s, or nil.
func (Set) Loops() *Loops { return nil }

// Micros returns the tiles of products of float32 and float64 written for s, or nil.
func (Set) Micros() (f32, f64 *Micro) { return nil, nil }
