package driver

import (
	"errors"
	"fmt"
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
	if text == "" {
		return errors.New("no text")
	}
	if len(text) > maxText {
		return fmt.Errorf("%d bytes of text, the limit is %d", len(text), maxText)
	}
	var depth, angle, start, prefix, line int
	line = 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '/':
			n := comment(text[i:])
			if n < 0 {
				return fmt.Errorf("line %d: comment without an end", line)
			}
			for _, c := range []byte(text[i : i+n]) {
				if c == '\n' {
					line++
				}
			}
			if n > 0 {
				// A comment counts for nothing in a statement.
				start += n
				i += n - 1
				continue
			}
			prefix = 0
		case '\n':
			line++
		case ' ', '\t', '\r':
		case ';', '}', '{':
			start, angle, prefix = i+1, 0, 0
			switch c {
			case '{':
				depth++
			case '}':
				depth--
			}
		case '(', '[':
			depth++
			prefix = 0
		case ')', ']':
			depth--
			prefix = 0
		case '<':
			angle++
			prefix = 0
		case '>':
			angle--
			prefix = 0
		case '-', '!', '~', '&', '*':
			prefix++
		default:
			if c < ' ' || c > '~' {
				return fmt.Errorf("line %d: byte %#02x is not printable ASCII", line, c)
			}
			prefix = 0
		}
		switch {
		case depth > maxDepth || angle > maxDepth:
			return fmt.Errorf("line %d: more than %d nested brackets", line, maxDepth)
		case prefix > maxPrefix:
			return fmt.Errorf("line %d: more than %d operators in a row", line, maxPrefix)
		case i-start > maxStatement:
			return fmt.Errorf("line %d: a statement of more than %d bytes", line, maxStatement)
		}
	}
	return nil
}

// comment returns the length of the comment that s begins with, 0 if it
// begins with none, or -1 if the comment does not end.
func comment(s string) int {
	if len(s) < 2 || s[1] != '/' && s[1] != '*' {
		return 0
	}
	if s[1] == '/' {
		for i := range len(s) {
			if s[i] == '\n' || s[i] != '\t' && (s[i] < ' ' || s[i] > '~') {
				return i // the newline, or a byte for checkWGSL to refuse
			}
		}
		return len(s)
	}
	for i, depth := 2, 1; i < len(s); i++ {
		switch {
		case s[i] == '*' && i+1 < len(s) && s[i+1] == '/':
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		case s[i] == '/' && i+1 < len(s) && s[i+1] == '*':
			i++
			if depth++; depth > maxDepth {
				return -1
			}
		}
	}
	return -1
}

// ascii reports whether s has only printable ASCII; the native libraries cut
// text at a zero byte and misread bytes that are not UTF-8.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
