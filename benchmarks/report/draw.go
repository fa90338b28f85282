package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// shades are told apart by those who do not tell red from green.
var shades = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff},
	color.RGBA{0xd5, 0x5e, 0x00, 0xff},
	color.RGBA{0x00, 0x9e, 0x73, 0xff},
	color.RGBA{0xcc, 0x79, 0xa7, 0xff},
}

// draw draws a point for each case that a peer has too: right of the line, weft is faster.
func (r *report) draw(file string) error {
	var cases []string
	for _, c := range r.cases {
		if slices.ContainsFunc(r.peers, func(p string) bool { return r.ms[[2]string{c, p}] > 0 }) {
			cases = append(cases, c)
		}
	}
	p := plot.New()
	p.X.Label.Text = "time of the other library / time of weft"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(powersOfTwo)
	p.X.Min, p.X.Max = 0.5, 2
	p.Legend.Top, p.Legend.Left = true, false
	for k, peer := range r.peers {
		var at plotter.XYs
		for i, c := range cases {
			if ms, ok := r.ms[[2]string{c, peer}]; ok {
				at = append(at, plotter.XY{X: ms / r.ms[[2]string{c, weft}], Y: float64(len(cases) - 1 - i)})
			}
		}
		points, err := plotter.NewScatter(at)
		if err != nil {
			return fmt.Errorf("%s: %w", peer, err)
		}
		points.GlyphStyle = draw.GlyphStyle{Color: shades[k%len(shades)], Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
		p.Add(points)
		p.Legend.Add(peer, points)
	}
	labels := make(names, len(cases))
	for i, c := range cases {
		labels[i] = plot.Tick{Value: float64(len(cases) - 1 - i), Label: c}
	}
	p.Y.Tick.Marker = labels
	p.Y.Min, p.Y.Max = -0.5, float64(len(cases))-0.5
	even, err := plotter.NewLine(plotter.XYs{{X: 1, Y: p.Y.Min}, {X: 1, Y: p.Y.Max}})
	if err != nil {
		return err
	}
	p.Add(even, plotter.NewGrid())
	height := vg.Points(60 + 14*float64(len(cases)))
	return p.Save(vg.Points(640), height, file)
}

// names are the labels of an axis.
type names []plot.Tick

// Ticks implements [plot.Ticker].
func (n names) Ticks(_, _ float64) []plot.Tick { return n }

// powersOfTwo labels the powers of two in a range.
func powersOfTwo(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log2(lo)); e <= math.Ceil(math.Log2(hi)); e++ {
		v := math.Exp2(e)
		if v >= lo*0.999 && v <= hi*1.001 {
			label := fmt.Sprint(v)
			if v < 1 {
				label = fmt.Sprint("1/", 1/v)
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: label})
		}
	}
	return ticks
}
