package tensor_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-go/weft/backend/cpu"
	"github.com/weft-go/weft/tensor"
)

// line returns the number of the line that calls it.
func line() int {
	_, _, n, _ := runtime.Caller(1)
	return n
}

// TestLateErrors tests that an error which shows when something is computed says which operation failed, and where the
// program recorded it, or if that cannot be known asked for the result.
func TestLateErrors(t *testing.T) {
	x := tensor.Iota(tensor.Float32, 3, 4)
	far := tensor.New([]int32{1, 0}).AddScalar(6) // not known when it is recorded
	released := f32(1, 2).Exp()
	if err := tensor.Eval(ctx, released); err != nil {
		t.Fatal(err)
	}
	released.Release()
	closed := tensor.NewDevice("closed", cpu.New())
	lost := f32(1, 2).To(closed).Exp()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	taken := x.Take(0, far)
	takenAt := line() - 1
	along := x.TakeAlongAxis(1, far.Reshape(1, 2).BroadcastTo(3, 2)).Exp().Sum()
	alongAt := line() - 1

	for _, c := range []struct {
		name string
		x    *tensor.Tensor
		kind error
		text string
		at   int // 0: where it is asked for
	}{
		{"take", taken, tensor.ErrIndex, "take(float32 [3 4], int32 [2]): ", takenAt},
		{"take in a kernel", taken.AddScalar(1).Sum(), tensor.ErrIndex, "take(float32 [3 4], int32 [2]): ", takenAt},
		{"take along axis", along, tensor.ErrIndex, "take_along_axis(float32 [3 4], int32 [3 2]): ", alongAt},
		{"released", released, tensor.ErrDevice, "data(float32 [2]): ", 0},
		{"closed", lost, tensor.ErrDevice, "data(float32 [2]): ", 0},
	} {
		if c.at != 0 && x.Device().Name() != "cpu" && os.Getenv("WEFT_CHECK") != "1" {
			continue // the device does not look
		}
		_, err := tensor.Data[float32](ctx, c.x)
		at := line() - 1
		if c.at != 0 {
			at = c.at
		}
		refusedAt(t, c.name, err, c.kind, "tensor: "+c.text, at)
	}
	err := tensor.Eval(ctx, lost.AddScalar(1))
	refusedAt(t, "eval", err, tensor.ErrDevice, "tensor: eval(float32 [2]): ", line()-1)
	_, err = tensor.Item[float32](ctx, released.Sum())
	refusedAt(t, "item", err, tensor.ErrDevice, "tensor: item(float32 []): ", line()-1)
	_, err = tensor.Bytes(ctx, released)
	refusedAt(t, "bytes", err, tensor.ErrDevice, "tensor: bytes(float32 [2]): ", line()-1)
}

func refusedAt(t *testing.T, name string, err, kind error, text string, at int) {
	t.Helper()
	var op *tensor.OpError
	switch {
	case !errors.As(err, &op) || !errors.Is(err, kind):
		t.Errorf("%s: error %v, want an OpError of kind %v", name, err, kind)
	case !strings.HasPrefix(err.Error(), text) || strings.Contains(op.Reason, kind.Error()):
		t.Errorf("%s: error %q, want %q and the kind not told", name, err, text)
	case filepath.Base(op.File) != "errors_late_test.go" || op.Line != at:
		t.Errorf("%s: error %q names %s:%d, want line %d", name, err, op.File, op.Line, at)
	}
}

// TestNilContext reads without a context.
func TestNilContext(t *testing.T) {
	x := f32(1, 2).MulScalar(3)
	got, err := tensor.Data[float32](nil, x) //nolint:staticcheck // what is tested
	if err != nil || fmt.Sprint(got) != "[3 6]" {
		t.Errorf("Data gives %v, %v", got, err)
	}
	v, err := tensor.Item[float32](nil, x.Sum()) //nolint:staticcheck // what is tested
	if err != nil || v != 9 {
		t.Errorf("Item gives %v, %v", v, err)
	}
	if err := tensor.Eval(nil, x.Exp()); err != nil { //nolint:staticcheck // what is tested
		t.Error(err)
	}
	if b, err := tensor.Bytes(nil, x.Exp()); err != nil || len(b) != 8 { //nolint:staticcheck // what is tested
		t.Errorf("Bytes gives %v, %v", b, err)
	}
}
