package asm

// Sets returns the instruction sets that the processor has, the best last. All of arm64 have NEON.
func Sets() []Set { return []Set{Generic, NEON} }

// Kernels returns the kernels written for s.
func (s Set) Kernels() []Kernel {
	if s == NEON {
		return neonKernels
	}
	return nil
}

// Loops returns nil: reductions, sorting and the rest are in Go.
func (Set) Loops() *Loops { return nil }

// Micros returns the tiles of products of float32 and float64 written for s, or nil.
func (s Set) Micros() (f32, f64 *Micro) {
	if s != NEON {
		return nil, nil
	}
	return &Micro{8, 8, ProductFloat32NEON}, &Micro{8, 4, ProductFloat64NEON}
}
