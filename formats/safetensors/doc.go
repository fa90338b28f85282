// Package safetensors reads and writes the safetensors format, in which most trained weights are published.
//
// # Reading
//
// [Open] opens a file, [NewReader] anything that can be read at an offset, and [Parse] a file already in memory.
// Each reads and checks the header alone; [File.Tensor] then reads one tensor, so a program pays only for those
// it asks for. A tensor of a file opened by [Parse] shares the memory it was given.
//
//	f, err := safetensors.Open("model.safetensors")
//	if err != nil {
//		return err
//	}
//	defer f.Close()
//	w, err := f.Tensor("features.0.weight")
//
// # Writing
//
// [Write] and [WriteFile] write a set of named tensors, byte for byte as the reference implementation does:
// sorted by the alignment of their types and then by name, with a header padded to a multiple of 8 bytes.
//
// # Element types
//
// Every type of package ops is written and read:
//
//	bool   BOOL    int32   I32    float16   F16     float64  F64
//	uint8  U8      uint32  U32    bfloat16  BF16
//	int8   I8      int64   I64    float32   F32
//
// Three types that weft lacks are read as wider ones: I16 as int32, U16 as uint32, U64 as int64, where a value of
// 2⁶³ or more is an error. A file may hold tensors of the others that the format knows (F8_E4M3, F8_E5M2,
// F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ, F6_E2M3, F6_E3M2, F4, C64): their names and shapes can be asked for, and
// the other tensors be read; reading one of them is an error of kind [ops.ErrDType]. Any byte but 0 is
// true in a tensor of bools.
//
// # What is refused
//
// Open checks all that the format's text says, and gives an error of kind [ErrFormat] that says where and what: a
// header longer than 100 MB or than the file, one that does not begin with '{' or is not UTF-8 or JSON, anything
// after it but blanks; a name given twice; a key, type or shape that does not belong there; bytes of the data
// that belong to no tensor or to two, or that are fewer than the shapes need; metadata other than strings.
// Memory is taken in proportion to the header read and to the tensors asked for, never to what a header claims.
package safetensors
