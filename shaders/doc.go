// Package shaders holds the WGSL text of package backend/wgpu.
//
// # The prelude
//
// The expressions of the rows of package ops (see ops.Op.Shader) call functions that WGSL lacks, or has with
// less accuracy than the rows ask for. They are in prelude/*.wgsl, and their names end in _ so that they clash
// with no builtin. [Prelude] picks those that a piece of code needs.
//
// Elements are held in a shader as these types, and converted where they are loaded, cast and stored:
//
//	Bool                        bool
//	Uint8, Uint32               u32         wrap_uint8_ after each operation on Uint8
//	Int8, Int32                 i32         wrap_int8_ after each operation on Int8
//	Int64                       vec2<u32>   the low word first
//	Float16, BFloat16, Float32  f32         round_f16_ or round_bf16_ after each operation on the halves
//	Float64                     f64         where the device has it; the prelude knows nothing of it
//
// # The dialect
//
// The text is the subset of WGSL that old naga (0.19), new naga and Tint all take: no overrides, no f16, no subgroups (but in
// kernels of package backend/wgpu that have a twin without),
// no const inside a function, no builtin in a constant expression, no dynamic index into an array that is not a var,
// shifts by u32 alone, no literal that overflows, no effect on the right of && or || (old naga runs it always). A compiler may assume that no NaN and no infinity occurs, so the prelude
// looks for them in the bits of a number and makes them of bits; it never relies on x != x or on 1/0. What it may take for
// the same x, or a constant, on both sides of an operator, package backend/wgpu hides from it: rows need not. A compiler
// may also contract a multiplication and an addition into one fma, which does no harm here, or move a constant factor
// from one product to another, as Mesa does; if it reorders additions, as fast-math settings do, some functions lose their
// last bits. A device may take subnormal numbers for 0, as an NVIDIA one does under Vulkan (see ops.Op.WithinFlushing):
// functions whose results are normal read such operands from their bits.
//
// The polynomials are fits that coefficients.py prints.
package shaders
