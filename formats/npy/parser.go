package npy

import (
	"bytes"
	"fmt"
	"math"

	"github.com/weft-go/weft/backend"
	"github.com/weft-go/weft/ops"
)

// A parser reads the text of a header: a Python dictionary of the keys descr, fortran_order and shape, in any
// order, with any white space, as ast.literal_eval of Python takes it.
type parser struct {
	text  []byte
	start int // of text in the file
	at    int // in text
}

// errorf returns an error about byte at of the text.
func (p *parser) errorf(at int, format string, args ...any) error {
	args = append(args, ErrFormat)
	return fmt.Errorf("npy: header, byte %d: "+format+": %w", append([]any{p.start + at}, args...)...)
}

// space skips white space and returns the byte after it, 0 at the end.
func (p *parser) space() byte {
	for p.at < len(p.text) && bytes.IndexByte([]byte(" \t\r\n\f"), p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// accept skips white space and then c, if c is there.
func (p *parser) accept(c byte) bool {
	if p.space() != c || p.at == len(p.text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(c byte) error {
	if !p.accept(c) {
		return p.errorf(p.at, "want %q, have %s", c, p.rest())
	}
	return nil
}

// rest quotes what follows, cut to a length that suits an error.
func (p *parser) rest() string {
	rest := bytes.TrimRight(p.text[p.at:], " \n")
	if len(rest) == 0 {
		return "the end"
	}
	if len(rest) > 60 {
		return fmt.Sprintf("%q…", rest[:60])
	}
	return fmt.Sprintf("%q", rest)
}

// dict reads the whole header into h.
func (p *parser) dict(h *Header) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for !p.accept('}') {
		p.space()
		at := p.at
		key, err := p.string()
		if err != nil {
			return err
		}
		if seen[key] {
			return p.errorf(at, "second key %q", key)
		}
		seen[key] = true
		if err := p.expect(':'); err != nil {
			return err
		}
		if err := p.value(h, key, at); err != nil {
			return err
		}
		if !p.accept(',') && p.space() != '}' {
			return p.errorf(p.at, "want ',' or '}', have %s", p.rest())
		}
	}
	if p.space() != 0 || p.at < len(p.text) {
		return p.errorf(p.at, "%s after the dictionary", p.rest())
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return p.errorf(p.at, "no key %q", key)
		}
	}
	return nil
}

// value reads the value of key, which is at byte at, into h.
func (p *parser) value(h *Header, key string, at int) (err error) {
	p.space()
	switch key {
	case "descr":
		h.Descr, h.elem, err = p.descr()
	case "fortran_order":
		h.FortranOrder, err = p.bool()
	case "shape":
		h.Shape, err = p.shape()
	default:
		err = p.errorf(at, "unknown key %q", key)
	}
	return err
}

// string reads a string literal. A backslash is refused: nothing that is read needs one.
func (p *parser) string() (string, error) {
	at := p.at
	if p.space() == 'u' { // Python 2
		p.at++
	}
	quote := p.space()
	if quote != '\'' && quote != '"' {
		p.at = at
		return "", p.errorf(at, "want a string, have %s", p.rest())
	}
	p.at++
	end := bytes.IndexByte(p.text[p.at:], quote)
	if end < 0 {
		return "", p.errorf(at, "string without end")
	}
	s := p.text[p.at : p.at+end]
	if i := bytes.IndexAny(s, "\\\n"); i >= 0 {
		return "", p.errorf(p.at+i, "%q in a string", s[i])
	}
	p.at += end + 1
	return string(s), nil
}

func (p *parser) descr() (string, elem, error) {
	at := p.at
	if c := p.space(); c == '[' || c == '(' || c == '{' {
		return "", elem{}, fmt.Errorf("npy: header, byte %d: descr %s: records: %w", p.start+at, p.rest(), ops.ErrDType)
	}
	s, err := p.string()
	if err != nil {
		return "", elem{}, err
	}
	e, ok := parseDescr(s)
	if ok {
		return s, e, nil
	}
	if what := refused(s); what != "" {
		return "", elem{}, fmt.Errorf("npy: header, byte %d: descr %q: %s: %w", p.start+at, s, what, ops.ErrDType)
	}
	return "", elem{}, fmt.Errorf("npy: header, byte %d: descr %q: %w", p.start+at, s, ops.ErrDType)
}

func (p *parser) bool() (bool, error) {
	for word, v := range map[string]bool{"True": true, "False": false} {
		if bytes.HasPrefix(p.text[p.at:], []byte(word)) {
			p.at += len(word)
			return v, nil
		}
	}
	return false, p.errorf(p.at, "fortran_order: want True or False, have %s", p.rest())
}

// shape reads a tuple of extents.
func (p *parser) shape() (backend.Shape, error) {
	at := p.at
	if err := p.expect('('); err != nil {
		return nil, err
	}
	shape := backend.Shape{}
	for !p.accept(')') {
		if len(shape) == maxRank {
			return nil, p.errorf(p.at, "shape of more than %d axes", maxRank)
		}
		d, err := p.extent()
		if err != nil {
			return nil, err
		}
		shape = append(shape, d)
		comma := p.accept(',')
		switch c := p.space(); {
		case !comma && c != ')':
			return nil, p.errorf(p.at, "shape: want ',' or ')', have %s", p.rest())
		case !comma && len(shape) == 1:
			return nil, p.errorf(at, "shape (%d) is a number; a tuple of one is (%d,)", d, d)
		}
	}
	return shape, nil
}

// extent reads a decimal integer, to which Python 2 adds an L.
func (p *parser) extent() (int, error) {
	p.space()
	at, n := p.at, 0
	for ; p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9'; p.at++ {
		d := int(p.text[p.at] - '0')
		if n > (math.MaxInt-d)/10 {
			return 0, p.errorf(at, "extent of more than %d", math.MaxInt)
		}
		n = 10*n + d
	}
	if p.at == at {
		return 0, p.errorf(at, "shape: want an extent, have %s", p.rest())
	}
	if p.at < len(p.text) && p.text[p.at] == 'L' {
		p.at++
	}
	return n, nil
}
