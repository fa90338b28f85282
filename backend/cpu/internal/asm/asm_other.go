//go:build !amd64

package asm

import "unsafe"

// Best returns the greatest set that the processor has.
func Best() Set { return Generic }

// Kernels returns the kernels written for s.
func (Set) Kernels() []Kernel { return nil }

// GreatestBits is for a set with kernels.
func (Set) GreatestBits(unsafe.Pointer, int) uint32 { panic("asm: no kernels") }
