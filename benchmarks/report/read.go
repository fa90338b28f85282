package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A figure is one measurement of a case.
type figure struct {
	Case    string
	Library string
	MS      float64 // milliseconds, by the clock of the device if that is known, else the median if there is one
	Threads int     // of the CPU, 0 for a figure that is not by their number
	rates   rates
}

// rates are what a benchmark of weft says of its case: 1e9 bytes and operations a second of the host's clock.
type rates struct {
	wall, bytes, flops float64 // milliseconds, GB/s, GFLOP/s
}

type figures []figure

const weft = "weft"

func readFile(name string, all *figures) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := all.read(bytes.NewReader(text)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// read adds the figures of a file. Lines that are neither a benchmark's nor JSON are not for us.
func (all *figures) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		var f figure
		var err error
		switch {
		case bytes.HasPrefix(line, []byte("{")):
			if err = json.Unmarshal(line, &f); err == nil && (f.Case == "" || f.Library == "" || f.MS <= 0) {
				err = fmt.Errorf("want a case, a library and ms > 0 in %s", line)
			}
			if f.Threads > 0 {
				f.Case += fmt.Sprintf(" (%d)", f.Threads)
			}
		case bytes.HasPrefix(line, []byte("Benchmark")):
			f, err = parse(string(line))
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if f.Case != "" {
			*all = append(*all, f)
		}
	}
	return lines.Err()
}

// processors is what go test appends to a benchmark's name.
var processors = regexp.MustCompile(`-\d+$`)

// parse reads the line of a benchmark: its name, how often it ran, and pairs of number and unit. A line without figures,
// that of a benchmark which runs others, gives no case.
func parse(line string) (figure, error) {
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return figure{}, nil
	}
	name := processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
	f := figure{Case: path.Dir(name), Library: path.Base(name)}
	for i := 2; i+1 < len(fields); i += 2 {
		v, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return figure{}, fmt.Errorf("%q is no number", fields[i])
		}
		switch fields[i+1] {
		case "ns/op":
			f.rates.wall = v / 1e6
		case "device-ns/op", "median-ns/op":
			f.MS = v / 1e6
		case "GB/s":
			f.rates.bytes = v
		case "GFLOP/s":
			f.rates.flops = v
		}
	}
	if f.MS == 0 {
		f.MS = f.rates.wall
	}
	if f.MS <= 0 {
		return figure{}, fmt.Errorf("no time in %q", line)
	}
	return f, nil
}

// A report has the medians of all cases that weft has, in the order in which they came.
type report struct {
	cases []string
	peers []string
	ms    map[[2]string]float64 // case and library
	rates map[string]rates      // case
}

func (all figures) report() *report {
	r := &report{ms: map[[2]string]float64{}, rates: map[string]rates{}}
	each := map[[2]string][]float64{}
	for _, f := range all {
		key := [2]string{f.Case, f.Library}
		each[key] = append(each[key], f.MS)
		if f.Library == weft && !slices.Contains(r.cases, f.Case) {
			r.cases = append(r.cases, f.Case)
			r.rates[f.Case] = f.rates
		}
	}
	for key, times := range each {
		r.ms[key] = median(times)
	}
	for _, f := range all {
		if f.Library != weft && slices.Contains(r.cases, f.Case) && !slices.Contains(r.peers, f.Library) {
			r.peers = append(r.peers, f.Library)
		}
	}
	return r
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
