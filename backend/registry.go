package backend

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// An Opener opens device number index (0 is the first) of a backend.
type Opener func(index int) (Backend, error)

// A Registration is what a backend package tells of itself at start-up.
type Registration struct {
	Open Opener

	// Rank orders the backends when a program names none: the highest that opens a real device wins.
	// The CPU has 0.
	Rank int
}

var registry = struct {
	sync.RWMutex
	m map[string]Registration
}{m: make(map[string]Registration)}

// Register makes a backend known under name, from the init function of its package. It panics if name is
// taken or r has no Open: both are mistakes in the program.
func Register(name string, r Registration) {
	registry.Lock()
	defer registry.Unlock()
	if r.Open == nil {
		panic("backend: Register of " + name + " without Open")
	}
	if _, dup := registry.m[name]; dup {
		panic("backend: Register of " + name + " twice")
	}
	registry.m[name] = r
}

// Names returns the names of the registered backends, the highest rank first.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	names := make([]string, 0, len(registry.m))
	for n := range registry.m {
		names = append(names, n)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := registry.m[names[i]], registry.m[names[j]]
		if a.Rank != b.Rank {
			return a.Rank > b.Rank
		}
		return names[i] < names[j]
	})
	return names
}

// Open opens device number index of the backend registered under name. The error is of kind [ErrDevice].
func Open(name string, index int) (Backend, error) {
	registry.RLock()
	r, ok := registry.m[name]
	registry.RUnlock()
	if !ok {
		return nil, fmt.Errorf("backend: unknown backend %q (forgotten import?), have %s: %w",
			name, strings.Join(Names(), ", "), ErrDevice)
	}
	b, err := r.Open(index)
	if err != nil && !errors.Is(err, ErrDevice) {
		err = fmt.Errorf("%w: %w", ErrDevice, err)
	}
	return b, err
}
