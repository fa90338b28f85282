package main

import (
	"context"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"devices"}, 0, "\ndefault: "},
		{[]string{"doctor"}, 0, "cpu      well: 7 checks"},
		{nil, 2, "usage: weft"},
		{[]string{"dance"}, 2, "usage: weft"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			var out strings.Builder
			if status := run(context.Background(), &out, c.args); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if !strings.Contains(out.String(), c.want) {
				t.Errorf("output lacks %q:\n%s", c.want, out.String())
			}
		})
	}
}

// A wrong result of a device is noticed.
func TestExamine(t *testing.T) {
	good := checks
	defer func() { checks = good }()
	checks = append([]check{{"wrong", good[0].run, []float64{1, 2, 3}}}, good...)
	if err := examine(context.Background(), "cpu"); err == nil || !strings.Contains(err.Error(), "wrong: ") {
		t.Errorf("error %v, want one of the wrong check", err)
	}
	if err := examine(context.Background(), "abacus"); err == nil {
		t.Error("no error for an unknown device")
	}
}
