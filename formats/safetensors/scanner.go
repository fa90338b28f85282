package safetensors

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner reads the JSON of a header. It knows the few shapes a header is made of, objects of strings, of
// objects and of lists of counts, and takes nothing else; so it cannot be led into depths or into values that
// are then dropped. The text is UTF-8: readHeader has seen to that.
type scanner struct {
	text []byte // begins at byte 8 of the file
	at   int
}

// errorf returns an error about byte at of the text.
func (s *scanner) errorf(at int, format string, args ...any) error {
	args = append([]any{8 + at}, args...)
	return fmt.Errorf("safetensors: header, byte %d: "+format+": %w", append(args, ErrFormat)...)
}

// space skips white space and returns the byte after it, 0 at the end.
func (s *scanner) space() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// accept skips white space and then c, if c is there.
func (s *scanner) accept(c byte) bool {
	if s.space() != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) expect(c byte, where string) error {
	if !s.accept(c) {
		return s.errorf(s.at, "%s: want %q, have %s", where, c, s.rest())
	}
	return nil
}

// rest quotes what follows, cut to a length that suits an error.
func (s *scanner) rest() string {
	rest := bytes.TrimRight(s.text[s.at:], " ")
	if len(rest) == 0 {
		return "the end"
	}
	if len(rest) > 40 {
		return fmt.Sprintf("%q…", rest[:40])
	}
	return fmt.Sprintf("%q", rest)
}

// object reads an object, calling value with each key and its place to read what the key stands for.
func (s *scanner) object(where string, value func(key string, at int) error) error {
	if err := s.expect('{', where); err != nil {
		return err
	}
	if s.accept('}') {
		return nil
	}
	for {
		s.space()
		at := s.at
		key, err := s.string(where)
		if err != nil {
			return err
		}
		if err := s.expect(':', where); err != nil {
			return err
		}
		if err := value(key, at); err != nil {
			return err
		}
		if s.accept('}') {
			return nil
		}
		if err := s.expect(',', where); err != nil {
			return err
		}
	}
}

// counts reads a list of at most limit natural numbers.
func (s *scanner) counts(where string, limit int) ([]int, error) {
	if err := s.expect('[', where); err != nil {
		return nil, err
	}
	list := []int{}
	if s.accept(']') {
		return list, nil
	}
	for {
		if len(list) == limit {
			return nil, s.errorf(s.at, "%s: more than %d numbers", where, limit)
		}
		n, err := s.count(where)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if s.accept(']') {
			return list, nil
		}
		if err := s.expect(',', where); err != nil {
			return nil, err
		}
	}
}

// count reads a natural number: no sign, no fraction, no exponent, and no zero ahead of other digits.
func (s *scanner) count(where string) (int, error) {
	s.space()
	at := s.at
	for s.at < len(s.text) && bytes.IndexByte([]byte("+-.0123456789Ee"), s.text[s.at]) >= 0 {
		s.at++
	}
	word := string(s.text[at:s.at])
	n, err := strconv.ParseUint(word, 10, 64)
	switch {
	case word == "":
		return 0, s.errorf(at, "%s: want a number, have %s", where, s.rest())
	case err != nil && bytes.ContainsAny(s.text[at:s.at], "+-.Ee"), len(word) > 1 && word[0] == '0':
		return 0, s.errorf(at, "%s: %.40s is not a natural number", where, word)
	case err != nil, n > math.MaxInt:
		return 0, s.errorf(at, "%s: %.40s is more than %d", where, word, math.MaxInt)
	}
	return int(n), nil
}

// string reads a string.
func (s *scanner) string(where string) (string, error) {
	if err := s.expect('"', where); err != nil {
		return "", err
	}
	start := s.at
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return string(s.text[start : s.at-1]), nil
		case c == '\\':
			return s.escaped(where, start)
		case c < ' ':
			return "", s.errorf(s.at, "%s: control character %#02x in a string", where, c)
		}
	}
	return "", s.errorf(start, "%s: string without end", where)
}

// escaped reads the rest of a string that began at start and has a backslash at the place reached.
func (s *scanner) escaped(where string, start int) (string, error) {
	b := bytes.Clone(s.text[start:s.at])
	for s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		switch {
		case c == '"':
			return string(b), nil
		case c < ' ':
			return "", s.errorf(s.at-1, "%s: control character %#02x in a string", where, c)
		case c != '\\':
			b = append(b, c)
		default:
			r, err := s.escape(where)
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		}
	}
	return "", s.errorf(start, "%s: string without end", where)
}

// escape reads what follows a backslash.
func (s *scanner) escape(where string) (rune, error) {
	at := s.at
	if at < len(s.text) {
		s.at++
		if i := bytes.IndexByte([]byte(`"\/bfnrt`), s.text[at]); i >= 0 {
			return rune("\"\\/\b\f\n\r\t"[i]), nil
		}
		if s.text[at] == 'u' {
			r, ok := s.hex4()
			if ok && utf16.IsSurrogate(r) && bytes.HasPrefix(s.text[s.at:], []byte(`\u`)) {
				s.at += 2
				low, lowOK := s.hex4()
				r, ok = utf16.DecodeRune(r, low), lowOK
				ok = ok && r != utf8.RuneError
			}
			if ok && !utf16.IsSurrogate(r) {
				return r, nil
			}
		}
	}
	s.at = at
	return 0, s.errorf(at, "%s: %s after a backslash", where, s.rest())
}

// hex4 reads four hexadecimal digits.
func (s *scanner) hex4() (rune, bool) {
	if len(s.text)-s.at < 4 {
		return 0, false
	}
	var r rune
	for _, c := range s.text[s.at : s.at+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	s.at += 4
	return r, true
}
