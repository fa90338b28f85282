package backend

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestRegistry(t *testing.T) {
	broken := errors.New("no driver")
	var opened []int
	Register("test-slow", Registration{Rank: -2, Open: func(index int) (Backend, error) {
		opened = append(opened, index)
		return nil, nil
	}})
	Register("test-fast", Registration{Rank: 1000, Open: func(int) (Backend, error) { return nil, broken }})
	Register("test-also-slow", Registration{Rank: -2, Open: func(int) (Backend, error) { return nil, ErrDevice }})
	defer func() {
		for _, n := range []string{"test-slow", "test-fast", "test-also-slow"} {
			delete(registry.m, n)
		}
	}()

	names := slices.DeleteFunc(Names(), func(n string) bool { return !strings.HasPrefix(n, "test-") })
	if want := []string{"test-fast", "test-also-slow", "test-slow"}; !slices.Equal(names, want) {
		t.Errorf("Names() = %v, want %v: by rank, then by name", names, want)
	}
	if _, err := Open("test-slow", 3); err != nil || !slices.Equal(opened, []int{3}) {
		t.Errorf("Open passes index %v and gives %v", opened, err)
	}
	if _, err := Open("test-fast", 0); !errors.Is(err, ErrDevice) || !errors.Is(err, broken) {
		t.Errorf("Open of a device that fails: %v, want ErrDevice and the cause", err)
	}
	if _, err := Open("test-also-slow", 0); !errors.Is(err, ErrDevice) || err.Error() != ErrDevice.Error() {
		t.Errorf("Open: %v, want ErrDevice as it is", err)
	}
	_, err := Open("test-none", 0)
	if !errors.Is(err, ErrDevice) {
		t.Fatalf("Open of an unknown name: %v, want ErrDevice", err)
	}
	for _, hint := range []string{`"test-none"`, "import", "test-fast, test-also-slow, test-slow"} {
		if !strings.Contains(err.Error(), hint) {
			t.Errorf("Open of an unknown name: %v, does not mention %s", err, hint)
		}
	}
}

func TestRegisterPanics(t *testing.T) {
	open := func(int) (Backend, error) { return nil, nil }
	Register("test-taken", Registration{Open: open})
	defer delete(registry.m, "test-taken")
	for name, r := range map[string]Registration{"test-taken": {Open: open}, "test-nil": {}} {
		func() {
			defer func() {
				if p, _ := recover().(string); !strings.Contains(p, name) {
					t.Errorf("Register(%q): panic %q, want one that names it", name, p)
				}
			}()
			Register(name, r)
		}()
	}
	if slices.Contains(Names(), "test-nil") {
		t.Error("a registration without Open was kept")
	}
	// A panic must not leave the registry locked.
	if _, err := Open("test-taken", 0); err != nil {
		t.Error(err)
	}
}
