package npy_test

import _ "github.com/weft-go/weft/backend/wgpu" // for WEFT_DEVICE=wgpu
