package shaders

import (
	"embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed prelude/*.wgsl
var files embed.FS

// Prelude returns the declarations of the prelude that code names, and those that these name in turn, without
// their comments: a kernel compiles what it uses and no more. Names that are not in the prelude are left to the
// code itself.
func Prelude(code string) string {
	needed := map[string]bool{}
	mark(code, needed)
	var b strings.Builder
	for _, d := range declarations() {
		if needed[d.name] {
			b.WriteString(d.text)
		}
	}
	return b.String()
}

// Has reports whether all functions of the prelude that code names exist.
func Has(code string) bool {
	for _, name := range helperName.FindAllString(code, -1) {
		if _, ok := index()[name]; !ok {
			return false
		}
	}
	return true
}

// mark adds to needed the declarations that code names.
func mark(code string, needed map[string]bool) {
	for _, name := range helperName.FindAllString(code, -1) {
		if d, ok := index()[name]; ok && !needed[name] {
			needed[name] = true
			mark(d.text, needed)
		}
	}
}

// helperName matches the names that the prelude may declare: those that end in _.
var helperName = regexp.MustCompile(`\b[A-Za-z]\w*_\b`)

// A declaration is a function or constant of the prelude, with its text.
type declaration struct{ name, text string }

// declarations are those of the prelude, in the order of its files.
var declarations = sync.OnceValue(func() (ds []declaration) {
	entries, err := files.ReadDir("prelude")
	if err != nil {
		panic(err) // an embedded directory can be read
	}
	for _, e := range entries {
		text, err := files.ReadFile("prelude/" + e.Name())
		if err != nil {
			panic(err)
		}
		ds = append(ds, parse(string(text))...)
	}
	return ds
})

var index = sync.OnceValue(func() map[string]declaration {
	m := map[string]declaration{}
	for _, d := range declarations() {
		m[d.name] = d
	}
	return m
})

// parse cuts WGSL text at its declarations. One starts a line with its keyword and ends with a brace that starts a
// line, or with its first line.
func parse(text string) (ds []declaration) {
	open := false
	for line := range strings.Lines(text) {
		if m := heading.FindStringSubmatch(line); m != nil {
			ds = append(ds, declaration{name: m[1]})
			open = true
		}
		if !open {
			continue
		}
		d := &ds[len(ds)-1]
		code, _, _ := strings.Cut(line, "//")
		if code = strings.TrimRight(code, " \n"); code != "" {
			d.text += code + "\n"
		}
		oneLine := strings.HasSuffix(code, ";") || strings.HasSuffix(code, "}")
		open = code != "}" && (d.text != code+"\n" || !oneLine)
	}
	return ds
}

var heading = regexp.MustCompile(`^(?:fn|const) (\w+)`)
