package tensor

import (
	"fmt"

	"github.com/weft-go/weft/backend"
)

// An axisBits is a set of axes. A tensor has at most [maxRank] axes.
type axisBits uint64

const maxRank = 64

func (s axisBits) has(axis int) bool { return s>>axis&1 != 0 }

// axisSet returns the axes named, or all of them if none is. Negative ones count from the end. It is an
// error of kind ErrAxis to name one twice.
func axisSet(shape backend.Shape, axes []int) (axisBits, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("tensor of %d axes, at most %d are possible here: %w", len(shape), maxRank, ErrAxis)
	}
	if len(axes) == 0 {
		return 1<<len(shape) - 1, nil
	}
	var set axisBits
	for _, a := range axes {
		i, err := shape.Axis(a)
		if err != nil {
			return 0, err
		}
		if set.has(i) {
			return 0, fmt.Errorf("axis %d named twice: %w", i, ErrAxis)
		}
		set |= 1 << i
	}
	return set, nil
}
