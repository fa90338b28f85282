package env

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestOn(t *testing.T) {
	old := slog.Default()
	defer slog.SetDefault(old)
	for _, usual := range []bool{false, true} {
		for value, want := range map[string]bool{"0": false, "1": true, "": usual, "true": usual, " 1": usual} {
			var log bytes.Buffer
			slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
			warned.Clear()
			t.Setenv("WEFT_FUSE", value)
			for range 2 {
				if got := On("WEFT_FUSE", usual); got != want {
					t.Errorf("WEFT_FUSE=%q, usually %t, is %t", value, usual, got)
				}
			}
			lines := 0
			if len(value) > 1 {
				lines = 1
			}
			if n := strings.Count(log.String(), "want 0 or 1"); n != lines {
				t.Errorf("WEFT_FUSE=%q: warned %d times, want %d", value, n, lines)
			}
		}
	}
}
