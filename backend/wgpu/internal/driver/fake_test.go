package driver

import (
	"slices"
	"sync"
	"testing"
)

// fake is a binding without a device. It fails where it is told to, and
// checks what the device promises: one call at a time, live objects only.
type fake struct {
	t       *testing.T
	mu      sync.Mutex // TryLock finds two calls at a time
	fail    map[string]error
	calls   []string
	objects map[*fakeObject]bool // true: released
	maps    []func(bool)         // answered by poll with mapOK
	mapOK   bool
	done    []func()      // answered by poll
	hold    bool          // poll answers nothing
	shared  bool          // poll may run beside other calls
	stuck   chan struct{} // submit returns when it is closed
	steps   []step        // of the last submit
}

type fakeObject struct {
	f    *fake
	kind string
	mem  []byte
}

func (o *fakeObject) Release() {
	if o.f.objects[o] {
		o.f.t.Errorf("%s released twice", o.kind)
	}
	o.f.objects[o] = true
}

func newFake(t *testing.T) (*fake, *device) {
	f := &fake{t: t, fail: map[string]error{}, objects: map[*fakeObject]bool{}, mapOK: true}
	lim := Limits{BufferSize: 1 << 30, StorageBinding: 1 << 30, UniformBinding: 1 << 16, StorageSlots: 8, WorkgroupMemory: 16384, Groups: 65535, StorageAlign: 256, UniformAlign: 256}
	d := newDevice(Info{Limits: lim, Features: Timestamps}, f)
	t.Cleanup(func() { d.Close() })
	return f, d
}

// enter notes a call and returns its error; leave must follow.
func (f *fake) enter(name string, uses ...object) error {
	if !f.mu.TryLock() {
		if !f.shared {
			f.t.Errorf("%s beside another call", name)
		}
		f.mu.Lock()
	}
	f.calls = append(f.calls, name)
	for _, o := range uses {
		if o, ok := o.(*fakeObject); !ok || f.objects[o] {
			f.t.Errorf("%s uses a released object", name)
		}
	}
	return f.fail[name]
}

func (f *fake) make(kind string, uses ...object) (object, error) {
	err := f.enter(kind, uses...)
	defer f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	o := &fakeObject{f: f, kind: kind}
	f.objects[o] = false
	return o, nil
}

func (f *fake) newBuffer(_ string, size uint64, u Usage) (object, error) {
	o, err := f.make("buffer")
	if err == nil && (u == Readback || u == Upload) {
		o.(*fakeObject).mem = make([]byte, size)
	}
	return o, err
}
func (f *fake) newLayout([]Slot) (object, error) { return f.make("layout") }
func (f *fake) newPipeline(_ PipelineDesc, l object) (object, error) {
	return f.make("pipeline", l)
}
func (f *fake) newQueries(string, uint32) (object, error) { return f.make("queries") }
func (f *fake) timestampPeriod() float64                  { return 1 }

func (f *fake) newGroup(_ string, l object, b []boundRange) (object, error) {
	uses := []object{l}
	for _, r := range b {
		uses = append(uses, r.buf)
	}
	return f.make("group", uses...)
}

func (f *fake) writeBuffer(dst object, _ uint64, _ []byte) error {
	defer f.mu.Unlock()
	return f.enter("write", dst)
}

func (f *fake) mapBuffer(b object, _ bool, _, _ uint64, done func(bool)) error {
	err := f.enter("map", b)
	defer f.mu.Unlock()
	f.maps = append(f.maps, done)
	return err
}

func (f *fake) mapped(b object, _, size uint64) []byte { return b.(*fakeObject).mem[:size] }

func (f *fake) unmap(b object) error {
	defer f.mu.Unlock()
	return f.enter("unmap", b)
}

func (f *fake) encode(steps []step) (object, error) {
	f.steps = slices.Clone(steps)
	return f.make("encode")
}

func (f *fake) submit(commands object, done func()) {
	if f.stuck != nil {
		<-f.stuck
	}
	_ = f.enter("submit", commands) // it cannot fail
	defer f.mu.Unlock()
	commands.Release()
	f.done = append(f.done, done)
}

func (f *fake) poll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hold {
		return
	}
	for _, d := range f.done {
		d()
	}
	for _, m := range f.maps {
		m(f.mapOK)
	}
	f.done, f.maps = nil, nil
}

// holding sets hold while others may poll.
func (f *fake) holding(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = on
}

func (f *fake) exclusive() bool { return !f.shared }
func (f *fake) drain()          { f.poll(); f.calls = append(f.calls, "drain") }
func (f *fake) release(bool)    { f.calls = append(f.calls, "release") }

// count is how often a call was made.
func (f *fake) count(name string) int {
	n := 0
	for _, c := range f.calls {
		if c == name {
			n++
		}
	}
	return n
}
