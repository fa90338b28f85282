package tensor

import _ "github.com/weft-go/weft/backend/cpu" // so that tensors work with no further import
