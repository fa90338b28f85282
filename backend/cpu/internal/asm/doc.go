// Package asm holds kernels of backend/cpu in assembly, for each instruction set that they are written for. The
// .s files and the tables of what is in them are generated: gen has their one description, in a module of its
// own. What has no kernel here, and every processor but amd64's, runs the Go code of backend/cpu.
//
// The kernels know no layouts: they work on blocks of elements that follow each other, of any number and
// alignment, and touch no byte beyond them.
package asm

import "unsafe"

//go:generate go -C gen run . ..

// A Set is an instruction set.
type Set uint8

// The instruction sets, each with what the ones before it have.
const (
	Generic Set = iota // Go alone
	AVX2               // with FMA and F16C
	AVX512             // F, DQ, BW and VL
)

// String returns the name of s: "generic", "avx2" or "avx512".
func (s Set) String() string { return [...]string{"generic", "avx2", "avx512"}[s] }

// A Block computes one operation for n elements, as a block function of backend/cpu does.
type Block = func(z, x, y, w unsafe.Pointer, n int)

// A Kernel is the Block of an operation on an element type, both by name. The operands whose bits are set in Lone
// are single elements.
type Kernel struct {
	Op, DType string
	Lone      int
	Block     Block
}
