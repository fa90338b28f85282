package driver

import (
	"strings"
	"testing"
)

func TestCheckWGSL(t *testing.T) {
	rep := strings.Repeat
	tests := []struct {
		name, text string
		want       string // part of the error; "" for none
	}{
		{"empty", "", "no text"},
		{"plain", "fn main() { let x = 1; }", ""},
		{"huge", rep(" ", maxText+1), "limit"},
		{"NUL", "fn main() {}\x00 garbage", "0x00"},
		{"UTF-8", "// Ω\nfn main() {}", "0xce"},
		{"invalid UTF-8 in a comment", "/* \xff */", "0xff"},
		{"line number", "a;\n/* \n\n */\nb;\x01", "line 5"},
		{"parentheses", rep("(", maxDepth) + rep(")", maxDepth), ""},
		{"too many parentheses", rep("(", maxDepth+1), "nested"},
		{"too many of all kinds", rep("([{", maxDepth/3+1), "nested"},
		{"too many types", "var q: " + rep("array<", maxDepth+1), "nested"},
		{"comparisons are no brackets", rep("if (a < b) {}", 1000), ""},
		{"parentheses in a comment", "// " + rep("(", 1000) + "\n/* " + rep("(", 1000) + " */ fn", ""},
		{"statement", "x = 1" + rep("+1", maxStatement/2-10) + ";", ""},
		{"long statement", "x = 1" + rep("+1", maxStatement/2+10) + ";", "statement"},
		{"long comment in a statement", "x = /* " + rep("c", 2*maxStatement) + " */ 1;", ""},
		{"operators", "x = " + rep("- ", maxPrefix) + "1;", ""},
		{"too many operators", "x = " + rep("- ", maxPrefix+1) + "1;", "operators"},
		{"nested comments", rep("/*", 100) + rep("*/", 100), ""},
		{"too many nested comments", rep("/*", maxDepth+2) + rep("*/", maxDepth+2), "comment"},
		{"comment without an end", "x; /* y", "comment"},
		{"divisions", "x = 1 / 2 / y;", ""},
	}
	for _, m := range tests {
		t.Run(m.name, func(t *testing.T) {
			err := checkWGSL(m.text)
			if (err == nil) != (m.want == "") || err != nil && !strings.Contains(err.Error(), m.want) {
				t.Errorf("got %v, want %q", err, m.want)
			}
		})
	}
}
