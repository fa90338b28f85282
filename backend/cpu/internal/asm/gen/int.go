package main

// intKernels emits arithmetic of integers, which wraps, and operations on bits.
func intKernels(s *set, ks *kernels) {
	for _, k := range []struct {
		op    string
		also  []string
		instr func(g *gen) instr
		size  int
	}{
		{"add", []string{"int32", "uint32"}, func(g *gen) instr { return g.VPADDD }, 4},
		{"sub", []string{"int32", "uint32"}, func(g *gen) instr { return g.VPSUBD }, 4},
		{"mul", []string{"int32", "uint32"}, func(g *gen) instr { return g.VPMULLD }, 4},
		{"maximum", []string{"int32"}, func(g *gen) instr { return g.VPMAXSD }, 4},
		{"minimum", []string{"int32"}, func(g *gen) instr { return g.VPMINSD }, 4},
		{"maximum", []string{"uint32"}, func(g *gen) instr { return g.VPMAXUD }, 4},
		{"minimum", []string{"uint32"}, func(g *gen) instr { return g.VPMINUD }, 4},
		{"bitwise_and", []string{"int32", "uint32"}, func(g *gen) instr { return g.VANDPS }, 4},
		{"bitwise_or", []string{"int32", "uint32"}, func(g *gen) instr { return g.VORPS }, 4},
		{"bitwise_xor", []string{"int32", "uint32"}, func(g *gen) instr { return g.VXORPS }, 4},
		{"add", []string{"int64"}, func(g *gen) instr { return g.VPADDQ }, 8},
		{"sub", []string{"int64"}, func(g *gen) instr { return g.VPSUBQ }, 8},
	} {
		for _, lone := range anyLone {
			s.elementwise(ks, kernel{
				op: k.op, dtype: k.also[0], also: k.also[1:], lane: k.size, out: slot{size: k.size},
				in:   []slot{{size: k.size, lone: lone&1 != 0}, {size: k.size, lone: lone&2 != 0}},
				body: func(g *gen, x []val) val { return g.op2(k.instr(g), x[0], x[1]) },
			})
		}
	}
}
