package graph_test

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/weft-go/weft/backend/backendtest"
	"github.com/weft-go/weft/internal/graph"
	"github.com/weft-go/weft/ops"
)

// The sum of squares of 0 to 9: three nodes, one kernel.
func Example() {
	d := graph.NewDevice("reference", backendtest.Reference())
	x := graph.Of(graph.Index(d, ops.Int64, 10))
	squares := graph.Apply(ops.Square, x.Layout.Shape, x)
	sum := graph.Reduce(ops.ReduceSum, graph.Of(squares), 1)
	plan, err := graph.Explain(sum)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)

	b, err := graph.Bytes(context.Background(), graph.Of(sum))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(binary.LittleEndian.Uint64(b))
	// Output:
	// 0 reduce [10]: square sum (int64 [10]) -> (int64 []), 8 bytes, 20 operations
	// 285
}
