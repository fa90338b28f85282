//go:build !amd64

package asm

// Best returns the greatest set that the processor has.
func Best() Set { return Generic }

// Kernels returns the kernels written for s.
func (Set) Kernels() []Kernel { return nil }

// Loops returns the loops written for s, nil for [Generic].
func (Set) Loops() *Loops { return nil }
