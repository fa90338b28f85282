// Package trace writes spans of work as a Chrome trace, which chrome://tracing and ui.perfetto.dev show: JSON of complete
// events, with a process for the program, whose threads are goroutines, and one for each device.
package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/weft-go/weft/backend"
)

// An event is an entry of the trace: a complete one ("X"), or the name of a process ("M").
type event struct {
	Name string `json:"name"`
	Cat  string `json:"cat,omitempty"`
	Ph   string `json:"ph"`
	TS   micros `json:"ts"`
	Dur  micros `json:"dur"`
	PID  int    `json:"pid"`
	TID  int    `json:"tid"`
	Args *args  `json:"args,omitempty"`
}

type args struct {
	Name  string  `json:"name,omitempty"`  // of a process
	Bytes int     `json:"bytes,omitempty"` // of a kernel
	GBs   float64 `json:"GB/s,omitempty"`
}

// micros is a time in microseconds, to the nanosecond.
type micros time.Duration

// MarshalJSON prints a number with three decimals.
func (m micros) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, "%.3f", float64(m)/1e3), nil }

// A process of the trace: the program, or a device.
const program = 1

// A converter makes events of spans.
type converter struct {
	begin   time.Time
	named   bool           // the program's process is
	devices map[string]int // their processes
}

func newConverter(begin time.Time) converter {
	return converter{begin: begin, devices: map[string]int{}}
}

// events returns the events of a span: its own, and before it the name of a process that is new.
func (c *converter) events(s backend.Span) []event {
	e := event{
		Name: s.Name, Cat: "host", Ph: "X", TS: micros(s.Start.Sub(c.begin)), Dur: micros(s.Duration),
		PID: program, TID: s.Goroutine,
	}
	var list []event
	if !c.named {
		c.named = true
		list = append(list, named(program, "program"))
	}
	if s.Device != "" {
		pid, ok := c.devices[s.Device]
		if !ok {
			pid = program + 1 + len(c.devices)
			c.devices[s.Device] = pid
			list = append(list, named(pid, s.Device))
		}
		e.Cat, e.PID, e.TID = s.Family, pid, 1
		e.Args = &args{Bytes: s.Bytes, GBs: Rate(s.Bytes, s.Duration)}
	}
	return append(list, e)
}

func named(pid int, name string) event {
	return event{Name: "process_name", Ph: "M", PID: pid, Args: &args{Name: name}}
}

// Rate returns gigabytes a second, 0 for no time.
func Rate(bytes int, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(bytes) / float64(d.Nanoseconds())
}

// Write writes a trace of spans that begins at begin.
func Write(w io.Writer, begin time.Time, spans []backend.Span) error {
	c := newConverter(begin)
	text := []byte(head)
	for i, s := range spans {
		var err error
		if text, err = c.append(text, s, i > 0); err != nil {
			return err
		}
	}
	_, err := w.Write(append(text, tail...))
	return err
}

const (
	head = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
	tail = "\n]}\n"
)

// append appends the events of a span to the text of a list, which has some already if more is set.
func (c *converter) append(text []byte, s backend.Span, more bool) ([]byte, error) {
	for _, e := range c.events(s) {
		if more {
			text = append(text, ",\n"...)
		}
		more = true
		line, err := json.Marshal(e)
		if err != nil {
			return text, fmt.Errorf("trace: %s: %w", s.Name, err)
		}
		text = append(text, line...)
	}
	return text, nil
}

// A file is a trace that grows. It is complete after every span, as nobody tells a program when it ends.
type file struct {
	mu   sync.Mutex
	c    converter
	f    io.WriterAt
	at   int64 // where the tail begins
	some bool
	err  error // of the first write that failed
	text []byte
}

// add adds a span.
func (t *file) add(s backend.Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err != nil {
		return
	}
	if t.text, t.err = t.c.append(t.text[:0], s, t.some); t.err == nil {
		n := len(t.text)
		t.text = append(t.text, tail...)
		_, t.err = t.f.WriteAt(t.text, t.at)
		t.at += int64(n)
		t.some = true
	}
	if t.err != nil {
		slog.Warn("weft: no more is traced", "reason", t.err)
	}
}

var fromEnvironment sync.Once

// FromEnvironment begins, once a process, the trace that WEFT_TRACE asks for: all spans go to the file it names.
func FromEnvironment() {
	fromEnvironment.Do(func() {
		name := os.Getenv("WEFT_TRACE")
		if name == "" {
			return
		}
		f, err := os.Create(name)
		if err == nil {
			_, err = f.WriteString(head + tail)
		}
		if err != nil {
			slog.Warn("weft: nothing is traced (WEFT_TRACE)", "reason", err)
			return
		}
		t := &file{c: newConverter(time.Now()), f: f, at: int64(len(head))}
		backend.Trace(t.add)
	})
}
