package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/weft-go/weft/backend/wgpu"
	"github.com/weft-go/weft/tensor"
)

// devices lists what tensors can live on.
func devices(w io.Writer) int {
	if _, err := tensor.Open("cpu"); err != nil {
		fmt.Fprintf(w, "cpu      none: %v\n", err)
	} else {
		fmt.Fprintf(w, "cpu      %s/%s, %d threads\n", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	}
	adapters, err := wgpu.Adapters()
	if err != nil {
		fmt.Fprintf(w, "wgpu     none: %v\n", err)
	}
	for i, a := range adapters {
		name := "wgpu"
		if i > 0 {
			name = fmt.Sprintf("wgpu:%d", i)
		}
		fmt.Fprintf(w, "%-8s %s (%s, %s, %s)\n", name, a.Name, a.Kind, a.API, a.Driver)
		fmt.Fprintf(w, "         tensors up to %s, %d operands a kernel, %d threads a workgroup; features: %s\n",
			size(a.MaxBytes), a.MaxOperands, a.Invocations, a.Features)
		fmt.Fprintf(w, "         through %s\n", a.Binding)
		if a.Software {
			fmt.Fprintln(w, "         not a default: it is software (ask for it with WEFT_DEVICE=wgpu)")
		}
	}
	d, err := tensor.Default()
	if err != nil {
		fmt.Fprintf(w, "\nno default device: %v\n", err)
		return 1
	}
	fmt.Fprintf(w, "\ndefault: %s\n", d)
	return 0
}

// size prints a number of bytes for people.
func size(bytes int) string {
	const kib = 1 << 10
	switch {
	case bytes >= kib*kib*kib:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(kib*kib*kib))
	case bytes >= kib*kib:
		return fmt.Sprintf("%.0f MiB", float64(bytes)/(kib*kib))
	}
	return fmt.Sprintf("%d bytes", bytes)
}
