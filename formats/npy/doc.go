// Package npy reads and writes NumPy's files: one array in a .npy, several named ones in a .npz.
//
// # One array
//
// [ReadFile] and [WriteFile] take a path, [Read] and [Write] a stream. What [Write] writes is, byte for byte,
// what numpy.save writes. Versions 1.0, 2.0 and 3.0 of the format are read, in row-major and in Fortran
// order, in either byte order; 1.0, row-major and little-endian is written.
//
// [Read] takes from its reader exactly one array, so several may follow one another in a stream, as NumPy
// allows; after the last it returns [io.EOF]. [ReadFile] and an [Archive] want nothing after the array.
//
// [ReadHeader] and [WriteHeader] are for programs that handle the elements themselves.
//
// # Several arrays
//
// [OpenArchive] opens a .npz, a zip archive with a .npy in it for each array. It reads the directory; an array
// is read when it is asked for. [NewArchiveWriter] and [WriteArchiveFile] write one.
//
// # Element types
//
// Every type of package ops has its place in a file:
//
//	bool      |b1        int64     <i8
//	uint8     |u1        float16   <f2
//	int8      |i1        bfloat16  <V2
//	int32     <i4        float32   <f4
//	uint32    <u4        float64   <f8
//
// NumPy has no bfloat16. The package ml_dtypes, which JAX and TensorFlow use, gives it one whose arrays
// numpy.save marks '<V2', and that is what stands here for bfloat16, in both directions. numpy.load returns such
// an array as raw bytes; .view(ml_dtypes.bfloat16) makes numbers of them. The mark '|V2' is refused: two raw
// bytes can be anything.
//
// Three types that weft lacks are read as wider ones: '<i2' as int32, '<u2' as uint32, '<u8' as int64, where a
// value of 2⁶³ or more is an error. Complex numbers, text, dates, records and Python objects are refused
// by name; nothing is ever unpickled. Any byte but 0 is true in an array of bools.
//
// # Files one does not trust
//
// Malformed input gives an error of kind [ErrFormat] that says where and what; an element type that cannot be
// read gives one of kind [ops.ErrDType]; an array cut short, one of kind [io.ErrUnexpectedEOF]. A header's word
// for the size of an array is not believed: memory grows in step with the bytes that really arrive.
package npy
