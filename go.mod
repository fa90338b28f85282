module github.com/weft-go/weft

go 1.26.0

require github.com/x448/float16 v0.8.4
