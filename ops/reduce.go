package ops

import "fmt"

// A ReduceOp combines the elements of a row into one, or in a scan into each prefix.
type ReduceOp uint8

// The reductions. Sum, Prod, Max, Min and LogAddExp also scan.
const (
	ReduceSum       ReduceOp = iota + 1 // floats at least pairwise accurate, integers wrapping
	ReduceProd                          // as sum
	ReduceMax                           // NaN if any element is; +0 above -0 is not promised
	ReduceMin                           // as max
	ReduceAny                           // of Bool
	ReduceAll                           // of Bool
	ReduceArgMax                        // Int32 position of the first maximum, or of the first NaN
	ReduceArgMin                        // Int32 position of the first minimum, or of the first NaN
	ReduceLogAddExp                     // log Σ exp, without overflow
	numReduceOps
)

var reduceNames = [numReduceOps]string{
	"", "sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "logaddexp",
}

// String returns the name of r, such as "sum".
func (r ReduceOp) String() string {
	if r == 0 || r >= numReduceOps {
		return fmt.Sprintf("reduce(%d)", uint8(r))
	}
	return reduceNames[r]
}

// ReduceOps returns every reduction.
func ReduceOps() []ReduceOp {
	rs := make([]ReduceOp, 0, numReduceOps-1)
	for r := ReduceSum; r < numReduceOps; r++ {
		rs = append(rs, r)
	}
	return rs
}

// Scans reports whether r can scan.
func (r ReduceOp) Scans() bool {
	switch r {
	case ReduceSum, ReduceProd, ReduceMax, ReduceMin, ReduceLogAddExp:
		return true
	default:
		return false
	}
}

// HasIdentity reports whether r of no elements has a value. Max, min and their positions have none.
func (r ReduceOp) HasIdentity() bool {
	switch r {
	case ReduceMax, ReduceMin, ReduceArgMax, ReduceArgMin:
		return false
	default:
		return true
	}
}

// Accepts returns the kinds of elements r combines. A caller casts integers and bools to Int64 for
// sum and prod, and anything to Bool for any and all, before it reduces.
func (r ReduceOp) Accepts() Kinds {
	switch r {
	case ReduceAny, ReduceAll:
		return Bools
	case ReduceSum, ReduceProd:
		return Numbers
	case ReduceLogAddExp:
		return Floats
	default:
		return Any
	}
}

// Result returns the element type of r over elements of type d: Int32 for positions, else d.
func (r ReduceOp) Result(d DType) DType {
	if r == ReduceArgMax || r == ReduceArgMin {
		return Int32
	}
	return d
}
