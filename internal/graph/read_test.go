package graph_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
	_ "github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// Nodes that need no kernel can be read like others.
func TestReadLeaves(t *testing.T) {
	b, err := backend.Open("cpu", 0)
	if err != nil {
		t.Fatal(err)
	}
	d := graph.NewDevice("cpu", b)
	defer d.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	data := []byte{1, 2, 3}
	for name, c := range map[string]struct {
		n    *graph.Node
		want []byte
	}{
		"data":  {graph.Host(d, ops.Uint8, backend.Shape{3}, data), data},
		"const": {graph.Const(d, ops.Uint8, 7), []byte{7}},
		"index": {graph.Index(d, ops.Int32, 2), []byte{0, 0, 0, 0, 1, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				got, err := graph.Bytes(ctx, graph.Of(c.n))
				if err != nil || !bytes.Equal(got, c.want) {
					t.Errorf("Bytes: % x, %v; want % x", got, err, c.want)
				}
				got = make([]byte, len(c.want))
				if err := graph.Read(ctx, graph.Of(c.n), got); err != nil || !bytes.Equal(got, c.want) {
					t.Errorf("Read: % x, %v; want % x", got, err, c.want)
				}
			}
		})
	}
}
