// Package env reads the environment variables of weft that say yes or no.
package env

import (
	"log/slog"
	"os"
	"sync"
)

var warned sync.Map // the settings that were not understood, as "NAME=value"

// On reports whether the variable called name is 1 rather than 0. Unset or empty it is as usual; so it is with any other
// value, which is logged once.
func On(name string, usual bool) bool {
	value := os.Getenv(name)
	switch value {
	case "0":
		return false
	case "1":
		return true
	case "":
		return usual
	}
	if _, again := warned.LoadOrStore(name+"="+value, true); !again {
		slog.Warn("weft: "+name+"="+value+" is ignored", "reason", "want 0 or 1")
	}
	return usual
}
