package driver

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds on WGSL text. The compiler descends by recursion and overflows its
// stack, ending the process, near 2,000 nested brackets and 10,000 terms in
// one expression; it is also quadratic in the number of statements.
const (
	maxText      = 1 << 20
	maxDepth     = 250      // open brackets of all kinds
	maxStatement = 16 << 10 // bytes between ; { and }
	maxPrefix    = 50       // - ! ~ & * in a row
)

// checkWGSL refuses text that could end the process instead of failing to
// compile. It does not otherwise look at the meaning.
func checkWGSL(text string) error {
	switch {
	case text == "":
		return errors.New("no text")
	case len(text) > maxText:
		return fmt.Errorf("%d bytes of text, the limit is %d", len(text), maxText)
	}
	for i := range len(text) {
		// The library cuts text at a zero byte and misreads what is not UTF-8.
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' && c != '\r' {
			return fmt.Errorf("line %d: byte %#02x is not printable ASCII", lineAt(text, i), c)
		}
	}
	var s nesting
	for i := 0; i < len(text); {
		n, err := commentLen(text[i:])
		if n == 0 && err == nil {
			n, err = 1, s.next(text[i])
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", lineAt(text, i), err)
		}
		i += n
	}
	return nil
}

func lineAt(text string, i int) int { return 1 + strings.Count(text[:i], "\n") }

// nesting measures text, byte after byte, without its comments.
type nesting struct {
	depth     int // of ( [ {
	angle     int // of <, in this statement: it may be "less than"
	statement int // bytes
	prefix    int
}

func (s *nesting) next(c byte) error {
	s.statement++
	switch c {
	case ' ', '\t', '\r', '\n':
		return nil
	case '-', '!', '~', '&', '*':
		s.prefix++
	default:
		s.prefix = 0
	}
	switch c {
	case '(', '[':
		s.depth++
	case ')', ']':
		s.depth--
	case '<':
		s.angle++
	case '>':
		s.angle--
	case '{':
		s.depth++
		s.statement, s.angle = 0, 0
	case '}':
		s.depth--
		s.statement, s.angle = 0, 0
	case ';':
		s.statement, s.angle = 0, 0
	}
	switch {
	case s.depth > maxDepth || s.angle > maxDepth:
		return fmt.Errorf("more than %d nested brackets", maxDepth)
	case s.prefix > maxPrefix:
		return fmt.Errorf("more than %d operators in a row", maxPrefix)
	case s.statement > maxStatement:
		return fmt.Errorf("a statement of more than %d bytes", maxStatement)
	}
	return nil
}

// commentLen returns the length of the comment that s begins with, or 0.
func commentLen(s string) (int, error) {
	switch {
	case strings.HasPrefix(s, "//"):
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			return i, nil
		}
		return len(s), nil
	case !strings.HasPrefix(s, "/*"):
		return 0, nil
	}
	for i, depth := 2, 1; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1, nil
			}
		case "/*":
			i++
			if depth++; depth > maxDepth {
				return 0, fmt.Errorf("more than %d nested comments", maxDepth)
			}
		}
	}
	return 0, errors.New("comment without an end")
}

// ascii reports whether s has only printable ASCII, as labels must.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
