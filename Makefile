# make lists the targets; make check and make gpu do what CI does.
TOOL := go tool -modfile=tools/go.mod

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: check
check: fmt-check lint generate-check test sets nocgo race ## what CI checks without a GPU; make gpu is the rest

.PHONY: fmt
fmt: ## format the code
	$(TOOL) golangci-lint fmt ./...

.PHONY: fmt-check
fmt-check:
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt differs: $$out"; exit 1; }

.PHONY: lint
lint: ## vet and the linters of .golangci.yml
	go vet ./...
	$(TOOL) golangci-lint run ./...

.PHONY: test
test: ## all tests
	go test ./...

.PHONY: nocgo
nocgo: ## build and test without cgo, and build for 32 bits
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 go test -short ./...
	GOARCH=386 CGO_ENABLED=0 go build ./...
	[ "$$(go env GOARCH)" != amd64 ] || GOARCH=386 CGO_ENABLED=0 go run ./cmd/weft doctor

# The packages in which goroutines meet.
CONCURRENT := ./internal/graph/... ./backend ./backend/cpu/... ./backend/wgpu/... ./tensor/... ./nn/...

.PHONY: race
race: ## the race detector on the concurrent packages
	go test -race -short $(CONCURRENT)

# Tests on whatever Vulkan there is, software included, on which -short runs one in eight of the suite's leaves.
ON_GPU := WEFT_GPU=require WEFT_DEVICE=wgpu go test -short -timeout 20m

.PHONY: gpu
gpu: ## all tests on the GPU, with both bindings, and with the race detector
	$(ON_GPU) ./...
	$(ON_GPU) -tags cogentcore ./backend/... ./tensor/... ./nn/...
	$(ON_GPU) -race ./backend/wgpu/... ./internal/graph ./tensor

.PHONY: gpu-suite
gpu-suite: ## the conformance suite on the GPU ROUNDS times (10), each with new inputs
	@for i in $$(seq $(ROUNDS)); do WEFT_GPU=require go test -count 1 -timeout 0 -run Conformance ./backend/wgpu || exit 1; done

SOAK ?= 10m
.PHONY: soak
soak: ## the soak tests on the GPU, SOAK (10m) each, and a kernel of 30 s
	WEFT_SOAK=$(SOAK) WEFT_DEVICE=wgpu go test -v -count 1 -timeout 0 -run Soak ./tensor
	WEFT_SOAK=$(SOAK) WEFT_GPU=require go test -v -count 1 -timeout 0 -run Soak ./backend/wgpu/internal/driver
	WEFT_TEST_LONG=30s WEFT_GPU=require go test -v -count 1 -timeout 0 -run LongKernel ./backend/wgpu/internal/driver

.PHONY: sets
sets: ## the CPU backend on each instruction set that the processor has, and compiled for GOAMD64=v3
	WEFT_CPU=generic go test -count 1 -short ./backend/cpu
	! grep -qw avx2 /proc/cpuinfo || WEFT_CPU=avx2 go test -count 1 -short ./backend/cpu
	! grep -qw avx512vl /proc/cpuinfo || WEFT_CPU=avx512 go test -count 1 -short ./backend/cpu
	! grep -qw avx2 /proc/cpuinfo || GOAMD64=v3 go test -count 1 -short -run Conformance ./backend/cpu

.PHONY: arm64
arm64: ## the CPU backend on NEON, under qemu-user
	GOARCH=arm64 CGO_ENABLED=0 go vet ./...
	GOARCH=arm64 CGO_ENABLED=0 go test -exec qemu-aarch64 -short -run 'Instructions|Assembly|MatMul' ./backend/cpu
	GOARCH=arm64 CGO_ENABLED=0 go test -exec qemu-aarch64 -short ./backend/cpu \
		-run 'Conformance/^(map|matmul)$$/^(add|sub|mul|div|maximum|minimum|neg|abs|sqrt|floor|ceil|trunc|round|float32|float64|program)'

ROUNDS ?= 10
.PHONY: suite
suite: ## the conformance suite ROUNDS times (10), each with new inputs
	@for i in $$(seq $(ROUNDS)); do go test -count 1 -run Conformance ./backend/cpu || exit 1; done

.PHONY: generate-check
generate-check: ## generated files are those their generators make
	go generate ./...
	@git diff --exit-code -- $$(git ls-files '*.s' '*_gen.go') >/dev/null || { echo "go generate changes files"; exit 1; }

.PHONY: golden
golden: ## make the golden files anew (needs Python with NumPy and mpmath)
	python3 ops/testdata/golden.py

FUZZTIME ?= 60s
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (60s)
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$p || exit 1; done; done

COUNT ?= 6
.PHONY: bench
bench: ## the benchmarks, COUNT times, for benchstat
	go test -run '^$$' -bench . -benchmem -count $(COUNT) ./benchmarks/...

PYTHON ?= python3
THREADS ?= 1,2
.PHONY: peers
peers: ## the CPU backend beside NumPy, PyTorch and gonum, as a table, for THREADS (1,2) and CASES (all)
	@dir=$$(mktemp -d); trap 'rm -r $$dir' EXIT; \
	go test -c -o $$dir/weft.test ./benchmarks && \
	$(PYTHON) benchmarks/peers/numpy_pytorch_cpu.py --weft $$dir/weft.test --threads $(THREADS) $(CASES) >$$dir/peers.json && \
	go run ./benchmarks/report $$dir/peers.json

.PHONY: size
size: ## lines of Go a package, without tests
	@for p in $$(go list -f '{{.Dir}}' ./...); do \
	  n=$$(ls $$p/*.go | grep -v _test.go | xargs cat | wc -l); echo "$$n $${p#$(CURDIR)/}"; done | sort -rn
