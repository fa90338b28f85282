package driver

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of failure. Every error of this package is an [*Error] that wraps
// one of them, or the error of a context that ended.
var (
	// ErrUnavailable: no binding in this build, no Vulkan loader, no adapter.
	ErrUnavailable = errors.New("no WebGPU device")
	// ErrUnsupported: the adapter or the device lacks a feature asked for.
	ErrUnsupported = errors.New("not supported by the device")
	// ErrValidation: the call is wrong (range, usage, alignment, layout).
	ErrValidation = errors.New("invalid use")
	// ErrHandle: a handle is zero, was freed, or belongs to another device.
	ErrHandle = errors.New("invalid handle")
	// ErrLimit: a size or count is beyond the device's limits.
	ErrLimit = errors.New("beyond the device's limits")
	// ErrBusy: the buffer is being read or written through a mapping.
	ErrBusy = errors.New("buffer is in use")
	// ErrShader: the WGSL text does not compile. The error is a *ShaderError.
	ErrShader = errors.New("shader does not compile")
	// ErrMemory: the device has no memory left. Free some and try again.
	ErrMemory = errors.New("out of device memory")
	// ErrLost: the device is gone. Close it and open a new one.
	ErrLost = errors.New("device lost")
	// ErrClosed: the device was closed.
	ErrClosed = errors.New("device closed")
)

// Error says which operation failed, on what, and why.
type Error struct {
	Op     string // "buffer", "write", "read", "pipeline", "group", "submit", "wait", …
	Label  string // of the buffer or the kernel; may be empty
	Detail string // the reason with its values; may be empty
	Err    error  // one of the sentinels, a *ShaderError, or a context's error
}

// Error returns "wgpu: op(label): kind: detail".
func (e *Error) Error() string {
	var s strings.Builder
	s.WriteString("wgpu: ")
	s.WriteString(e.Op)
	if e.Label != "" {
		fmt.Fprintf(&s, "(%s)", e.Label)
	}
	fmt.Fprintf(&s, ": %v", e.Err)
	if e.Detail != "" {
		s.WriteString(": ")
		s.WriteString(e.Detail)
	}
	return s.String()
}

// Unwrap returns the kind of failure.
func (e *Error) Unwrap() error { return e.Err }

// ShaderError is a kernel that does not compile.
type ShaderError struct {
	Line, Col int    // of the first message, from 1; 0 when the compiler did not say
	Text      string // the compiler's own words, several lines
}

// Error returns the position and the compiler's text.
func (e *ShaderError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%v: %s", ErrShader, e.Text)
	}
	return fmt.Sprintf("%v: %d:%d: %s", ErrShader, e.Line, e.Col, e.Text)
}

// Is reports whether target is ErrShader.
func (e *ShaderError) Is(target error) bool { return target == ErrShader }

// fail makes an *Error of a kind with a formatted reason.
func fail(kind error, op, label, format string, args ...any) *Error {
	return &Error{Op: op, Label: label, Detail: fmt.Sprintf(format, args...), Err: kind}
}

// Both libraries report every failure as a validation error; these words of
// wgpu-core tell the others from it.
const (
	textMemory = "Not enough memory left"
	textLost   = "Parent device is lost"
)

// nativeError turns the binding's error into ours.
func nativeError(op, label string, err error) *Error {
	text := err.Error()
	switch {
	case strings.Contains(text, textLost):
		return &Error{Op: op, Label: label, Err: ErrLost}
	case strings.Contains(text, textMemory):
		return &Error{Op: op, Label: label, Err: ErrMemory}
	}
	return &Error{Op: op, Label: label, Err: ErrValidation, Detail: oneLine(text)}
}

// shaderError is nativeError for WGSL: it keeps the lines and finds the position.
func shaderError(label string, err error) *Error {
	e := nativeError("pipeline", label, err)
	if !errors.Is(e, ErrValidation) {
		return e
	}
	s := &ShaderError{Text: strings.TrimSpace(cause(err.Error()))}
	if _, at, ok := strings.Cut(s.Text, "wgsl:"); ok {
		// No position in the text leaves 0, 0, which means unknown.
		_, _ = fmt.Sscanf(at, "%d:%d", &s.Line, &s.Col)
	}
	return &Error{Op: "pipeline", Label: label, Err: s}
}

// cause drops the library's frame around the reason.
func cause(text string) string {
	if _, after, ok := strings.Cut(text, "Caused by:"); ok {
		text = strings.TrimLeft(after, " \n")
		if first, rest, ok := strings.Cut(text, "\n"); ok && strings.HasPrefix(first, "In wgpu") {
			text = rest
		}
	}
	return text
}

// oneLine is cause as a single line.
func oneLine(text string) string { return strings.Join(strings.Fields(cause(text)), " ") }
