package cpu

import (
	"context"
	"runtime"
)

const (
	fewKeys   = 40 // that are sorted by insertion
	sortChunk = 1 << 15
)

// sortKeys sorts keys of the given number of bits, and places along with them if it is not nil, so that equal keys keep
// their order. It may leave both in other memory than they were in. With a job other goroutines help.
func sortKeys[K sortKey](ctx context.Context, m *scratch, j *job, bits int, keys *[]K, places *[]int32) error {
	n := len(*keys)
	other := take[K](m, n)
	var otherPlaces []int32
	if *places != nil {
		otherPlaces = take[int32](m, n)
	}
	if j == nil {
		sortChunkOf(ctx, bits, keys, &other, places, &otherPlaces)
		return nil
	}
	// Chunks of a fixed number are sorted, then merged by pairs.
	width := n
	for parts := runtime.GOMAXPROCS(0); parts > 1 && width > sortChunk; parts = (parts + 1) / 2 {
		width = (width + 1) / 2
	}
	err := j.parallel(n, width, func(lo, hi int) {
		k, o := (*keys)[lo:hi], other[lo:hi]
		p, q := span(*places, lo, hi), span(otherPlaces, lo, hi)
		sortChunkOf(ctx, bits, &k, &o, &p, &q)
		if &k[0] != &(*keys)[lo] {
			copy((*keys)[lo:hi], k)
			copy(span(*places, lo, hi), p)
		}
	})
	for ; err == nil && width < n; width *= 2 {
		err = j.parallel(n, sortChunk, func(lo, hi int) {
			for lo < hi { // a segment may lie in several pairs of runs
				end := min(hi, (lo/(2*width)+1)*2*width)
				mergeSegment(other, otherPlaces, *keys, *places, width, lo, end)
				lo = end
			}
		})
		*keys, other = other, *keys
		*places, otherPlaces = otherPlaces, *places
	}
	return err
}

// span returns p[lo:hi], or nil for nil.
func span(p []int32, lo, hi int) []int32 {
	if p == nil {
		return nil
	}
	return p[lo:hi]
}

// sortChunkOf sorts keys by their digits of 8 bits, the lowest first (LSD radix sort). It swaps keys with other, and
// places likewise, an unknown number of times.
func sortChunkOf[K sortKey](ctx context.Context, bits int, keys, other *[]K, places, otherPlaces *[]int32) {
	if len(*keys) <= fewKeys {
		insertKeys(*keys, *places)
		return
	}
	var counts [8][256]int32
	piecewise(ctx, len(*keys), func(lo, hi int) {
		for _, k := range (*keys)[lo:hi] {
			for d := range bits / 8 {
				counts[d&7][uint8(k>>(8*d))]++
			}
		}
	})
	for d := range bits / 8 {
		c := &counts[d]
		if int(c[uint8((*keys)[0]>>(8*d))]) == len(*keys) {
			continue // all have this digit
		}
		sum := int32(0)
		for i, n := range c {
			c[i] = sum
			sum += n
		}
		piecewise(ctx, len(*keys), func(lo, hi int) {
			if *places == nil {
				moveKeys(*other, (*keys)[lo:hi], 8*d, c)
			} else {
				moveBoth(*other, (*keys)[lo:hi], *otherPlaces, (*places)[lo:hi], 8*d, c)
			}
		})
		*keys, *other = *other, *keys
		*places, *otherPlaces = *otherPlaces, *places
	}
}

// moveKeys moves each key to the next place of its digit.
func moveKeys[K sortKey](dst, src []K, shift int, next *[256]int32) {
	for _, k := range src {
		d := uint8(k >> shift)
		dst[next[d]] = k
		next[d]++
	}
}

func moveBoth[K sortKey](dst, src []K, dstPlaces, srcPlaces []int32, shift int, next *[256]int32) {
	srcPlaces = srcPlaces[:len(src)]
	for i, k := range src {
		d := uint8(k >> shift)
		at := next[d]
		next[d]++
		dst[at], dstPlaces[at] = k, srcPlaces[i]
	}
}

// insertKeys sorts a few keys.
func insertKeys[K sortKey](keys []K, places []int32) {
	for i := 1; i < len(keys); i++ {
		k, j := keys[i], i
		for ; j > 0 && keys[j-1] > k; j-- {
			keys[j] = keys[j-1]
		}
		keys[j] = k
		if places != nil && j < i {
			p := places[i]
			copy(places[j+1:i+1], places[j:i])
			places[j] = p
		}
	}
}

// mergeSegment writes elements lo to hi of the merged pairs of runs of keys, each of width elements. All of them are of
// one pair.
func mergeSegment[K sortKey](dst []K, dstPlaces []int32, keys []K, places []int32, width, lo, hi int) {
	first := lo / (2 * width) * 2 * width
	middle := min(first+width, len(keys))
	end := min(first+2*width, len(keys))
	a := first + split(keys[first:middle], keys[middle:end], lo-first)
	b := middle + lo - a
	for i := lo; i < hi; i++ {
		at := b
		if b == end || a < middle && keys[a] <= keys[b] {
			at = a
			a++
		} else {
			b++
		}
		dst[i] = keys[at]
		if places != nil {
			dstPlaces[i] = places[at]
		}
	}
}

// split returns how many of the first n elements of a and b, merged with those of a first, are of a.
func split[K sortKey](a, b []K, n int) int {
	lo, hi := max(0, n-len(b)), min(n, len(a))
	for lo < hi {
		m := (lo + hi) / 2
		if a[m] <= b[n-1-m] {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// leastKeys returns the positions of the n least keys, in order. It keeps some candidates, and passes over the keys that
// are not less than the n-th of them.
func leastKeys[K sortKey](ctx context.Context, m *scratch, keys []K, n int) []int32 {
	room := 2 * max(n, 128)
	held, places := take[K](m, room)[:0], take[int32](m, room)[:0]
	other, otherPlaces := take[K](m, room), take[int32](m, room)
	bits := 32
	if _, wide := any(K(0)).(uint64); wide {
		bits = 64
	}
	settle := func() {
		o, p := other[:len(held)], otherPlaces[:len(held)]
		sortChunkOf(ctx, bits, &held, &o, &places, &p)
		other, otherPlaces = o[:room], p[:room]
		held, places = held[:min(n, len(held))], places[:min(n, len(places))]
	}
	limit, full := K(0), false
	for lo := 0; lo < len(keys); lo += between {
		look(ctx)
		for i, k := range keys[lo:min(lo+between, len(keys))] {
			if full && k >= limit {
				continue
			}
			held, places = append(held, k), append(places, int32(lo+i))
			if len(held) == room {
				settle()
				full = len(held) == n
				limit = held[n-1]
			}
		}
	}
	settle()
	return places
}
