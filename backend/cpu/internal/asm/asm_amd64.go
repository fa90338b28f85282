package asm

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// Best returns the greatest set that the processor has.
func Best() Set {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI1 || !x.HasBMI2 || !x.HasF16C:
		return Generic
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL:
		return AVX512
	}
	return AVX2
}

// Kernels returns the kernels written for s.
func (s Set) Kernels() []Kernel {
	switch s {
	case AVX2:
		return avx2Kernels
	case AVX512:
		return avx512Kernels
	}
	return nil
}

// GreatestBits returns the bits of the greatest magnitude of n float32, for an s with kernels. A NaN counts as
// greater than any number.
func (s Set) GreatestBits(x unsafe.Pointer, n int) uint32 {
	if s == AVX512 {
		return uint32(GreatestBitsAVX512(x, n))
	}
	return uint32(GreatestBitsAVX2(x, n))
}
