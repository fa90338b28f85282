package wgpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/backend/wgpu/internal/driver"
)

// A tuner chooses the tiles of products by trying them on their operands (WEFT_TUNE=1), and keeps the choices in a file for
// the next process. The first product of a class then takes a second or so.
type tuner struct {
	path    string // of the file; "" if there is no place for one
	device  string // what the choices hold for
	tiles   []tile // that are tried
	choices map[string]tuned
}

// tuned is the choice for a class of products.
type tuned struct {
	Tile   string `json:"tile"`
	Slices int    `json:"slices"`
}

// A tuneFile is the file, one for each device.
type tuneFile struct {
	Device  string           `json:"device"`
	Choices map[string]tuned `json:"choices"`
}

// tuneVersion is that of the kernels: choices among others are forgotten.
const tuneVersion = 1

// name tells tiles apart in the file.
func (c tile) name() string {
	return fmt.Sprintf("%dx%dx%d of %dx%d, loop %d, unroll %t", c.rows, c.columns, c.depth, c.m, c.n, c.loop, c.unroll)
}

// newTuner returns the tuner of a device, with what its file in dir has. A file that cannot be read, or is of another device, is
// taken for none.
func newTuner(info *driver.Info, dir string) *tuner {
	u := &tuner{
		device:  fmt.Sprintf("%s, %s, %s, %s, kernels %d", info.Name, info.Driver, info.API, info.Binding, tuneVersion),
		choices: make(map[string]tuned), tiles: []tile{largeTwice, middleTile, smallTile, tinyTile},
	}
	for _, r := range ratedTiles {
		u.tiles = append(u.tiles, r.tile)
	}
	if dir == "" {
		return u
	}
	u.path = filepath.Join(dir, fmt.Sprintf("tiles-%04x-%04x.json", info.VendorID, info.DeviceID))
	text, err := os.ReadFile(u.path)
	var f tuneFile
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	switch {
	case err == nil && f.Device == u.device && f.Choices != nil:
		u.choices = f.Choices
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		slog.Warn("wgpu: choices of tiles cannot be read", "file", u.path, "error", err)
	}
	return u
}

// tuneDir is where the files are.
func tuneDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "weft")
}

// save writes the file, whole or not at all.
func (u *tuner) save() error {
	if u.path == "" {
		return nil
	}
	text, err := json.MarshalIndent(tuneFile{u.device, u.choices}, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(u.path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(u.path), "tiles-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), u.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// class names the products that share a choice: of one kind, with sizes that are the same powers of two, rounded up.
func (p *product) class() string {
	up := func(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }
	s := fmt.Sprintf("%s %d×[%d %d]·[%d %d] across %t %t of", p.acc, up(p.batch.Len()), up(p.m), up(p.k), up(p.k), up(p.n),
		p.across(p.left, true), p.across(p.right, false))
	for _, list := range [][]backend.Operand{p.left, p.right} {
		for _, o := range list {
			s += " " + o.DType.String()
		}
	}
	if im := p.image; im != nil {
		s += fmt.Sprintf(" window %v stride %v taps first %t", im.window, im.kernel.Stride, im.tapsFirst)
	}
	return s
}

// choose returns the kernel of a product: what plan chooses, or where that is a tile and the tuner is asked, the fastest one.
func (e *engine) choose(p *product, key []byte) (choice, error) {
	c := e.plan(p)
	u := e.tuner
	if u == nil || c.tile.rows == 0 || p.writesInput() {
		return c, nil
	}
	class := p.class()
	known, ok := u.choices[class]
	if i := slices.IndexFunc(u.tiles, func(t tile) bool { return t.name() == known.Tile }); ok && i >= 0 && e.fits(p, u.tiles[i]) {
		return choice{tile: u.tiles[i], slices: min(known.Slices, mostSlices)}.sized(p), nil
	}
	best, err := e.tryTiles(p, key, c)
	if err != nil {
		return choice{}, err
	}
	u.choices[class] = tuned{best.tile.name(), best.slices}
	if err := u.save(); err != nil {
		slog.Warn("wgpu: choices of tiles cannot be kept", "file", u.path, "error", err)
	}
	return best, nil
}

// writesInput reports whether an output stands in the memory of an input, so that the product cannot be computed twice.
func (p *product) writesInput() bool {
	for _, list := range [][]backend.Operand{p.left, p.right, p.rest} {
		for _, in := range list {
			if slices.ContainsFunc(p.out, func(o backend.Operand) bool { return o.Buf == in.Buf }) {
				return true
			}
		}
	}
	return false
}

// What is tried: tiles that compute at most so much beyond the result, and slices that give at most so many workgroups.
const (
	tuneWaste  = 2
	tuneGroups = 1024
)

// tryTiles returns the fastest choice for a product, which it computes by each.
func (e *engine) tryTiles(p *product, key []byte, first choice) (best choice, err error) {
	remembering, current, dispatches := e.remembering, e.current, e.dispatches
	e.remembering, e.current = false, stepNote{}
	defer func() { e.remembering, e.current, e.dispatches = remembering, current, dispatches }()
	if err := e.warmUp(p, key, first); err != nil {
		return first, err
	}
	least := time.Duration(0)
	for _, c := range e.candidates(p, first) {
		took, err := e.timeChoice(p, key, c, least)
		if err != nil {
			return first, err
		}
		if least == 0 || took < least {
			best, least = c, took
		}
	}
	return best, nil
}

// candidates returns what is tried, with what plan chose before all others.
func (e *engine) candidates(p *product, first choice) []choice {
	list := []choice{first}
	for _, t := range e.tuner.tiles {
		c := choice{tile: t}
		groups := c.groups(p)
		if !e.fits(p, t) || groups*t.rows*t.columns > max(tuneWaste*p.batch.Len()*p.m*p.n, smallTile.rows*smallTile.columns) {
			continue
		}
		for n := 1; n == 1 || n <= min(mostSlices, p.k/leastSlice) && n*groups <= tuneGroups; n *= 2 {
			if c := (choice{tile: t, slices: n}).sized(p); c != first {
				list = append(list, c)
			}
		}
	}
	return list
}

// warmUp runs a choice until the device runs at full speed.
func (e *engine) warmUp(p *product, key []byte, c choice) error {
	const warm = 200 * time.Millisecond
	if e.info.Type == driver.Software {
		return nil
	}
	for start := time.Now(); time.Since(start) < warm; {
		if _, err := e.timeRuns(p, key, c, 4); err != nil {
			return err
		}
	}
	return nil
}

// timeChoice returns what a product takes by a choice: the least of some looks, or of one where that is far from the least so
// far.
func (e *engine) timeChoice(p *product, key []byte, c choice, least time.Duration) (time.Duration, error) {
	const looks, long, most = 3, 2 * time.Millisecond, 50
	if _, err := e.timeRuns(p, key, c, 1); err != nil { // compiles
		return 0, err
	}
	best, err := e.timeRuns(p, key, c, 1)
	runs := min(most, int(long/max(best, time.Microsecond))+1)
	for i := 0; i < looks && err == nil; i++ {
		var took time.Duration
		took, err = e.timeRuns(p, key, c, runs)
		if best = min(best, took); least > 0 && best > 2*least {
			break
		}
	}
	return best, err
}

// timeRuns returns what one of several runs takes, on a device that has nothing else to do.
func (e *engine) timeRuns(p *product, key []byte, c choice, runs int) (time.Duration, error) {
	if err := e.drain(); err != nil {
		return 0, err
	}
	start := time.Now()
	for range runs {
		if err := e.multiply(p, c, key); err != nil {
			return 0, err
		}
	}
	err := e.drain()
	return time.Since(start) / time.Duration(runs), err
}
