// Command weft looks at the devices that tensors can live on.
//
//	weft devices   lists them, with their limits, and says which is the default
//	weft doctor    runs a small self-test on each, and says what to install where there is none
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	_ "github.com/weft-go/weft/backend/wgpu" // the GPU, if there is one
)

func main() {
	flag.Usage = func() { fmt.Fprint(flag.CommandLine.Output(), usage) }
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Stdout, flag.Args()))
}

const usage = `usage: weft devices | doctor

	devices   list the devices, their limits and features
	doctor    run a small self-test on each device
`

// run runs a command and returns the exit status.
func run(ctx context.Context, w io.Writer, args []string) int {
	if len(args) == 1 {
		switch args[0] {
		case "devices":
			return devices(w)
		case "doctor":
			return doctor(ctx, w)
		}
	}
	fmt.Fprint(w, usage)
	return 2
}
