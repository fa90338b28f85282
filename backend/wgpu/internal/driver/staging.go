package driver

import "context"

// Large writes go through two Upload buffers that the device keeps: while the
// GPU copies from one, the host fills the other. That is twice as fast as the
// library's own staging, and running out of memory is an error and not the
// loss of the device.
const (
	stagedWrite = 4 << 20  // bytes from which on it pays
	stagingSize = 32 << 20 // of each buffer
	stagings    = 2
)

// newStaging makes the queue of idle staging buffers; 0 is one not yet made.
func newStaging() chan Buffer {
	q := make(chan Buffer, stagings)
	for range stagings {
		q <- 0
	}
	return q
}

// writeStaged writes src, piece by piece.
func (d *device) writeStaged(ctx context.Context, dst Buffer, off uint64, src []byte) error {
	for len(src) > 0 {
		n := min(len(src), stagingSize)
		if err := d.stage(ctx, dst, off, src[:n]); err != nil {
			return err
		}
		src, off = src[n:], off+uint64(n)
	}
	return nil
}

// stage writes src, which fits a staging buffer. The buffer is filled once the
// GPU has copied what it held.
func (d *device) stage(ctx context.Context, dst Buffer, off uint64, src []byte) (err error) {
	var s Buffer
	select {
	case s = <-d.staging:
	case <-ctx.Done():
		return &Error{Op: "write", Err: ctx.Err()}
	}
	defer func() { d.staging <- s }()
	if s == 0 {
		if s, err = d.NewBuffer("staging", stagingSize, Upload); err != nil {
			return err
		}
	}
	if err := d.mapCopy(ctx, "write", s, 0, src); err != nil {
		return err
	}
	if err := d.lock(ctx, "write", ""); err != nil {
		return err
	}
	defer d.unlock()
	size := roundUp(uint64(len(src)), 4)
	_, err = d.submit("write", "", []Command{{Op: Copy, Src: s, Dst: dst, DstOff: off, Size: size}})
	return err
}
