package tensor

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/internal/graph"
)

// A Device computes tensors. [Open] gives one by name, [Default] the one that new tensors are on. A nil
// Device, which [Tensor.Device] returns for a tensor that is on none, is fine to ask and to print.
type Device struct {
	g      *graph.Device
	closed atomic.Bool // Close was called
}

var devices struct {
	sync.Mutex
	open map[string]*Device // by name and index: "cpu:0"
	def  *Device
}

// NewDevice returns a device that runs on b, for programs that make their backend themselves. Its name
// is used in messages alone. Of a nil backend it makes no device: moving a tensor there is an error of kind [ErrDevice].
func NewDevice(name string, b backend.Backend) *Device {
	if b == nil {
		return nil
	}
	return &Device{g: graph.NewDevice(name, b)}
}

// Open returns the device called name: a registered backend, "cpu" or "wgpu", with the number of the
// device after a colon if it is not the first, as in "wgpu:1". Opened twice it is the same device. The
// error is of kind [ErrDevice].
func Open(name string) (*Device, error) {
	devices.Lock()
	defer devices.Unlock()
	return open(name)
}

func open(name string) (*Device, error) {
	base, number, numbered := strings.Cut(name, ":")
	index := 0
	if numbered {
		var err error
		if index, err = strconv.Atoi(number); err != nil || index < 0 {
			return nil, fmt.Errorf("tensor: device %q: want a name, or name:number: %w", name, ErrDevice)
		}
	}
	key := base + ":" + strconv.Itoa(index)
	if d := devices.open[key]; d != nil {
		return d, nil
	}
	b, err := backend.Open(base, index)
	if err != nil {
		return nil, fmt.Errorf("tensor: device %q: %w", name, err)
	}
	if index == 0 {
		name = base
	}
	d := NewDevice(name, b)
	if devices.open == nil {
		devices.open = make(map[string]*Device)
	}
	devices.open[key] = d
	return d, nil
}

// SetDefault makes d the device that new tensors are on. Tensors made before stay where they are. With nil
// the choice is made anew, as [Default] says.
func SetDefault(d *Device) {
	if d.none() {
		d = nil
	}
	devices.Lock()
	defer devices.Unlock()
	devices.def = d
}

// Default returns the device that new tensors are on: the one given to [SetDefault], else the one that
// the environment variable WEFT_DEVICE names, else the best that the program's imports have registered:
// a GPU where there is one, else the CPU. A software adapter that only poses as a GPU is taken only if
// named. The choice is made once, and anew when that device is closed. The error is of kind [ErrDevice].
func Default() (*Device, error) {
	devices.Lock()
	defer devices.Unlock()
	if devices.def != nil {
		return devices.def, nil
	}
	d, err := choose()
	if err == nil {
		devices.def = d
	}
	return d, err
}

// choose opens the device that WEFT_DEVICE names, or else the best registered.
func choose() (*Device, error) {
	if name := os.Getenv("WEFT_DEVICE"); name != "" {
		d, err := open(name)
		if err != nil {
			return nil, fmt.Errorf("%w (WEFT_DEVICE)", err)
		}
		return d, nil
	}
	var refused []string
	for _, name := range backend.Names() {
		d, err := open(name)
		switch {
		case err != nil:
			refused = append(refused, err.Error())
		case d.g.Backend().Info().Software:
			refused = append(refused, "tensor: device "+name+" is software: WEFT_DEVICE="+name+" takes it")
		default:
			if len(refused) > 0 {
				slog.Warn("weft: falling back to device "+name, "reason", strings.Join(refused, "; "))
			}
			return d, nil
		}
	}
	if len(refused) == 0 {
		refused = []string{"no backend is imported"}
	}
	return nil, fmt.Errorf("tensor: no device: %s: %w", strings.Join(refused, "; "), ErrDevice)
}

// none reports whether d is no device: nil, or one that neither Open nor NewDevice made.
func (d *Device) none() bool { return d == nil || d.g == nil }

// Name returns the name d was opened under, "none" if it is nil.
func (d *Device) Name() string {
	if d.none() {
		return "none"
	}
	return d.g.Name()
}

// Info describes the device: the hardware, its limits, the memory in use. It is the zero Info if d is nil.
func (d *Device) Info() backend.Info {
	if d.none() {
		return backend.Info{}
	}
	return d.g.Backend().Info()
}

// String returns the name and the hardware.
func (d *Device) String() string {
	if a := d.Info().Adapter; a != "" {
		return d.Name() + " (" + a + ")"
	}
	return d.Name()
}

// Close frees the device. Reading a tensor on it, or computing one, is then an error of kind
// [ErrDevice]. [Open] opens it anew, and so does [Default] if it was the default: the tensors made from then on are on the
// new device, and do not go with those that were on d.
func (d *Device) Close() error {
	if d.none() {
		return fmt.Errorf("tensor: close: device is nil: %w", ErrDevice)
	}
	devices.Lock()
	for key, o := range devices.open {
		if o == d {
			delete(devices.open, key)
		}
	}
	if devices.def == d {
		devices.def = nil
	}
	devices.Unlock()
	d.closed.Store(true)
	return d.g.Close()
}

// To returns t on device d: itself if it is there already. Data that New or Wrap was given and nothing
// has used yet is not copied; other elements are computed where they are, and copied when first needed.
func (t *Tensor) To(d *Device) *Tensor {
	if t != nil && t.number() != nil {
		return t // a scalar is on whatever device its fellow operand is
	}
	t, ok := t.ready("to")
	switch {
	case !ok, t.dev == d:
		return t
	case d.none():
		return fail("to", ErrDevice, "device is nil", t)
	}
	return whole(d, graph.Transfer(d.g, t.edge()))
}
