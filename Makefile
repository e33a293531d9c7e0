# Two commands matter: `make demo` and `make test`. Both set up what they need
# on a fresh Debian machine with Go, and say what they install.

GO      ?= go
BIN     := bin/sbxcron
LDFLAGS := -s -w
TESTFLAGS ?=
ARCHES  := linux/amd64 linux/arm64 darwin/arm64 windows/amd64

.PHONY: demo test build setup check cross bench soak programs clean

demo:
	@t=$$(date +%s); $(MAKE) -s setup && n=$$(date +%s) && echo "-- setup took $$((n - t)) s" && \
	  $(MAKE) -s build && echo "-- build took $$(($$(date +%s) - n)) s"
	@sh testdata/demo/demo.sh $(BIN)

test:
	@sh .ci/setup test
	$(GO) test -race -timeout 24m $(TESTFLAGS) ./...

build:
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/sbxcron
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/sbxbench ./cmd/sbxbench
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/sbxcron-escape ./cmd/sbxcron-escape

# setup installs the Debian packages that are missing, and only those.
setup:
	@sh .ci/setup

check:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...

cross:
	@for target in $(ARCHES); do \
	  echo "build $$target"; \
	  CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) build -o /dev/null ./cmd/sbxcron || exit 1; \
	  CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} $(GO) vet ./cmd/sbxcron ./cmd/sbxcron-escape/... || exit 1; \
	done

bench: build
	bin/sbxbench

# soak runs the long loops; their last lines belong into docs/measured.md.
soak:
	SBXCRON_TEST_SOAK=1 $(GO) test -count=1 -timeout 90m -v ./...

# programs tries programs of everyday life in the sandbox, those that take long to
# install or to run included: the table in docs/sandbox.md.
programs:
	@sh .ci/setup programs
	SBXCRON_TEST_PROGRAMS=1 $(GO) test -count=1 -timeout 20m -v -run TestRealPrograms ./runner/bwrap

clean:
	rm -rf bin
