package main

import (
	"context"
	"fmt"
	"image"
	_ "image/gif"  // for -image
	_ "image/jpeg" // for -image
	_ "image/png"  // for -image
	"io"
	"os"
	"strings"

	xdraw "golang.org/x/image/draw"

	"github.com/weft-go/weft/models/mnist"
	"github.com/weft-go/weft/tensor"
)

// draw shows a few test images side by side: two that were read right, then up to four that were not.
func draw(ctx context.Context, w io.Writer, images *tensor.Tensor, labels []byte, guesses []int32) error {
	const right, wrong = 2, 4
	var show []int
	for i := 0; i < right && i < len(labels); i++ {
		show = append(show, i)
	}
	for i, l := range labels {
		if guesses[i] != int32(l) && len(show) < right+wrong {
			show = append(show, i)
		}
	}
	var pictures [][]float32
	for _, i := range show {
		p, err := tensor.Data[float32](ctx, images.Select(0, i).DivScalar(255))
		if err != nil {
			return err
		}
		pictures = append(pictures, p)
	}
	fmt.Fprintln(w)
	for _, i := range show {
		fmt.Fprintf(w, "%-*s", mnist.Side, fmt.Sprintf(" a %d, read as %d", labels[i], guesses[i]))
	}
	fmt.Fprintln(w)
	for y := 0; y < mnist.Side; y += 2 {
		for _, p := range pictures {
			fmt.Fprint(w, halfBlocks(p[y*mnist.Side:], p[(y+1)*mnist.Side:]))
		}
		fmt.Fprintln(w)
	}
	return nil
}

// halfBlocks draws two rows of pixels as one line of text.
func halfBlocks(upper, lower []float32) string {
	var b strings.Builder
	for x := range mnist.Side {
		k := 0
		if upper[x] > 0.35 {
			k = 1
		}
		if lower[x] > 0.35 {
			k += 2
		}
		b.WriteString([...]string{" ", "▀", "▄", "█"}[k])
	}
	return b.String()
}

// readPicture returns the picture in a file as the network takes it.
func readPicture(path string) ([]float32, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it is only read
	img, _, err := image.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	pixels, err := prepare(img)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return pixels, nil
}

// classifyPicture reads the digit on a picture and prints how sure the network is of each.
func classifyPicture(ctx context.Context, w io.Writer, net *mnist.Net, dev *tensor.Device, pixels []float32) error {
	x := tensor.New(pixels, 1, 1, mnist.Side, mnist.Side).To(dev)
	p, err := tensor.Data[float32](ctx, net.Forward(x).Softmax(-1))
	if err != nil {
		return err
	}
	for y := 0; y < mnist.Side; y += 2 {
		fmt.Fprintln(w, halfBlocks(pixels[y*mnist.Side:], pixels[(y+1)*mnist.Side:]))
	}
	best := 0
	for d, v := range p {
		if v > p[best] {
			best = d
		}
		fmt.Fprintf(w, "%d %6.2f %% %s\n", d, 100*v, strings.Repeat("█", int(40*v+0.5)))
	}
	fmt.Fprintf(w, "It is a %d (on %s).\n", best, dev)
	return nil
}

// prepare makes of a picture what the images of MNIST are: ink bright on a dark ground, the digit scaled to fit 20×20
// pixels and its centre of mass in the middle of 28×28.
func prepare(img image.Image) ([]float32, error) {
	g := grey(img)
	ink := bounds(g)
	if ink.Empty() {
		return nil, fmt.Errorf("no ink found on the picture of %v pixels", img.Bounds().Size())
	}
	const box = 20
	longer := max(ink.Dx(), ink.Dy())
	size := image.Pt(max(1, ink.Dx()*box/longer), max(1, ink.Dy()*box/longer))
	small := image.NewGray(image.Rectangle{Max: size})
	xdraw.CatmullRom.Scale(small, small.Bounds(), g, ink, xdraw.Src, nil)

	var mass, mx, my float64
	for y := range size.Y {
		for x := range size.X {
			v := float64(small.GrayAt(x, y).Y)
			mass, mx, my = mass+v, mx+v*float64(x), my+v*float64(y)
		}
	}
	if mass == 0 {
		return nil, fmt.Errorf("no ink left of the picture of %v pixels at 20×20", img.Bounds().Size())
	}
	dx := mnist.Side/2 - int(mx/mass+0.5)
	dy := mnist.Side/2 - int(my/mass+0.5)
	out := make([]float32, mnist.Side*mnist.Side)
	for y := range size.Y {
		for x := range size.X {
			if p := image.Pt(x+dx, y+dy); p.In(image.Rect(0, 0, mnist.Side, mnist.Side)) {
				out[p.Y*mnist.Side+p.X] = float32(small.GrayAt(x, y).Y) / 255
			}
		}
	}
	return out, nil
}

// grey returns img in shades of grey, inverted if its border is bright: then the ink is dark.
func grey(img image.Image) *image.Gray {
	g := image.NewGray(image.Rectangle{Max: img.Bounds().Size()})
	white := image.White // a transparent ground is paper
	xdraw.Draw(g, g.Bounds(), white, image.Point{}, xdraw.Src)
	xdraw.Draw(g, g.Bounds(), img, img.Bounds().Min, xdraw.Over)
	sum, n := 0, 0
	for y := range g.Rect.Dy() {
		for x := range g.Rect.Dx() {
			if x == 0 || y == 0 || x == g.Rect.Dx()-1 || y == g.Rect.Dy()-1 {
				sum += int(g.GrayAt(x, y).Y)
				n++
			}
		}
	}
	if n > 0 && sum/n > 127 {
		for i := range g.Pix {
			g.Pix[i] = 255 - g.Pix[i]
		}
	}
	return g
}

// bounds returns the rectangle of what is at least a third as bright as the brightest pixel.
func bounds(g *image.Gray) image.Rectangle {
	var brightest uint8
	for _, v := range g.Pix {
		brightest = max(brightest, v)
	}
	var r image.Rectangle
	if brightest < 16 {
		return r
	}
	for y := range g.Rect.Dy() {
		for x := range g.Rect.Dx() {
			if g.GrayAt(x, y).Y >= max(1, brightest/3) {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return r
}
