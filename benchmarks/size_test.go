package benchmarks

import "testing"

// vector returns how many numbers a vector has, and the name of that: enough that a GPU is not done at once.
func vector(b *testing.B) (n int, name string) {
	if onGPU(b) {
		return 100_000_000, "1e8"
	}
	return 10_000_000, "1e7"
}

// matrix returns the side of a square matrix.
func matrix(b *testing.B) (side int, name string) {
	if onGPU(b) {
		return 8192, "8192x8192"
	}
	return 4096, "4096x4096"
}

// rows returns the shape of a matrix whose rows are worked on.
func rows(b *testing.B) (n, width int, name string) {
	if onGPU(b) {
		return 8192, 8192, "8192x8192"
	}
	return 4096, 1024, "4096x1024"
}
