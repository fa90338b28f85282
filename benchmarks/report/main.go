// Command report puts the figures of package benchmarks beside those of its peers.
//
//	go run ./benchmarks/report [-svg FILE] [-bandwidth GB/s] [-flops GFLOP/s] FILE ...
//
// A file is the output of go test -bench, or of the scripts in benchmarks/peers: a line of JSON a case, {"case": "FMA/1e8",
// "library": "PyTorch", "ms": 0.476}. It prints a table in Markdown, a row for each case that weft has: the median time of each
// library, by the device's clock where that is known, and how many times faster than each of them weft is. Lines that say
// "threads": 2 are of cases of their own, whose rows say (2). With the bandwidth and
// the rate of arithmetic of the device, it also gives weft's share of the one that bounds the case, its roofline. The plot shows
// the ratios.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	var o options
	flag.StringVar(&o.svg, "svg", "", "draw the ratios of times to this file")
	flag.Float64Var(&o.bandwidth, "bandwidth", 0, "memory bandwidth of the device, GB/s")
	flag.Float64Var(&o.flops, "flops", 0, "float32 arithmetic of the device, GFLOP/s")
	flag.Parse()
	if err := run(os.Stdout, o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

type options struct {
	svg              string
	bandwidth, flops float64
}

func run(w io.Writer, o options, files []string) error {
	if len(files) == 0 {
		return fmt.Errorf("no file: want the output of go test -bench and of the peers")
	}
	var all figures
	for _, name := range files {
		if err := readFile(name, &all); err != nil {
			return err
		}
	}
	r := all.report()
	if len(r.cases) == 0 {
		return fmt.Errorf("no figure of weft in %q", files)
	}
	if err := r.write(w, o); err != nil || o.svg == "" {
		return err
	}
	return r.draw(o.svg)
}
