package main

import (
	"fmt"
	"io"
	"strings"
)

// write writes the table: times in milliseconds, and beside each peer's how many times it takes weft's.
func (r *report) write(w io.Writer, o options) error {
	head := []string{"case", "weft, ms"}
	for _, p := range r.peers {
		head = append(head, p+", ms", "×")
	}
	roofline := o.bandwidth > 0 || o.flops > 0
	if roofline {
		head = append(head, "roofline")
	}
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	b.WriteString("|---" + strings.Repeat("|--:", len(head)-1) + "|\n")
	for _, c := range r.cases {
		own := r.ms[[2]string{c, weft}]
		cells := []string{c, number(own)}
		for _, p := range r.peers {
			if ms, ok := r.ms[[2]string{c, p}]; ok {
				cells = append(cells, number(ms), fmt.Sprintf("%.2f", ms/own))
			} else {
				cells = append(cells, "", "")
			}
		}
		if roofline {
			cells = append(cells, r.roofline(c, o))
		}
		line(cells)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// roofline is the share of the device's bandwidth or arithmetic that weft has in the case.
func (r *report) roofline(c string, o options) string {
	of := r.rates[c]
	slower := of.wall / r.ms[[2]string{c, weft}] // rates are by the host's clock
	switch {
	case of.flops > 0 && o.flops > 0:
		return fmt.Sprintf("%.0f %% of arithmetic", 100*slower*of.flops/o.flops)
	case of.bytes > 0 && o.bandwidth > 0:
		return fmt.Sprintf("%.0f %% of bandwidth", 100*slower*of.bytes/o.bandwidth)
	}
	return ""
}

// number writes milliseconds with three digits that count.
func number(ms float64) string {
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f", ms)
	case ms >= 1:
		return fmt.Sprintf("%.2f", ms)
	}
	return fmt.Sprintf("%.3g", ms)
}
