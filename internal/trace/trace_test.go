package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weft-go/weft/backend"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// spans are two of a goroutine and two of a kernel.
var spans = []backend.Span{
	{Name: "plan", Start: begin.Add(1500), Duration: 250, Goroutine: 7},
	{Name: `map."odd`, Start: begin.Add(2000), Duration: 100, Device: "gpu", Family: "map", Bytes: 400},
	{Name: "map.add", Start: begin.Add(3000), Device: "gpu", Family: "map", Bytes: 8},
	{Name: "read", Start: begin.Add(4000), Duration: time.Second, Goroutine: 7},
}

const text = `{"displayTimeUnit":"ns","traceEvents":[
{"name":"process_name","ph":"M","ts":0.000,"dur":0.000,"pid":1,"tid":0,"args":{"name":"program"}},
{"name":"plan","cat":"host","ph":"X","ts":1.500,"dur":0.250,"pid":1,"tid":7},
{"name":"process_name","ph":"M","ts":0.000,"dur":0.000,"pid":2,"tid":0,"args":{"name":"gpu"}},
{"name":"map.\"odd","cat":"map","ph":"X","ts":2.000,"dur":0.100,"pid":2,"tid":1,"args":{"bytes":400,"GB/s":4}},
{"name":"map.add","cat":"map","ph":"X","ts":3.000,"dur":0.000,"pid":2,"tid":1,"args":{"bytes":8}},
{"name":"read","cat":"host","ph":"X","ts":4.000,"dur":1000000.000,"pid":1,"tid":7}
]}
`

func TestWrite(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, begin, spans); err != nil || b.String() != text {
		t.Errorf("%v, wrote\n%s\nwant\n%s", err, &b, text)
	}
	b.Reset()
	if err := Write(&b, begin, nil); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("%v, wrote %s", err, &b)
	}
}

// TestFile adds spans to a file, which is complete after each, and the same in the end as one written at once.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.json")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(head + tail); err != nil {
		t.Fatal(err)
	}
	g := file{c: newConverter(begin), f: f, at: int64(len(head))}
	check := func() []byte {
		got, err := os.ReadFile(name)
		if err != nil || !json.Valid(got) {
			t.Fatalf("%v:\n%s", err, got)
		}
		return got
	}
	check()
	for _, s := range spans {
		g.add(s)
		check()
	}
	if got := check(); string(got) != text {
		t.Errorf("wrote\n%s\nwant\n%s", got, text)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 20 {
				g.add(backend.Span{Name: "work", Start: begin, Goroutine: i + 1})
			}
		})
	}
	all.Wait()
	if n := bytes.Count(check(), []byte(`"work"`)); n != 160 {
		t.Errorf("%d spans", n)
	}
}

// brokenFile cannot be written.
type brokenFile struct{ tries int }

var errFull = errors.New("disk full")

func (b *brokenFile) WriteAt([]byte, int64) (int, error) {
	b.tries++
	return 0, errFull
}

// TestFileBroken gives up a file that cannot be written.
func TestFileBroken(t *testing.T) {
	var b brokenFile
	g := file{c: newConverter(begin), f: &b}
	for _, s := range spans {
		g.add(s)
	}
	if b.tries != 1 || !errors.Is(g.err, errFull) {
		t.Errorf("tried %d times, error %v", b.tries, g.err)
	}
}
