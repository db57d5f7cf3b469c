# mcpcat: make alone lists the targets.
GO ?= go
BIN := bin/mcpcat
TOOL := $(GO) tool -modfile=.ci/tools.mod
CLAIMS := $(CURDIR)/.cache/claims
FUZZTIME ?= 20s
BENCH ?= .
SPEC := testdata/spec/mcp-2026-07-28.schema.json
SPEC_SUM := ef70b61f99b6d2e5e3b46863822eab08dff6a45bedc7a08914e0e5b133f40203
SPEC_COMMIT := 271ecc9accafdd9b83a3c869fa67c22953b2af80
SPEC_URL := https://raw.githubusercontent.com/modelcontextprotocol/modelcontextprotocol/$(SPEC_COMMIT)/schema/2026-07-28/schema.json

.DEFAULT_GOAL := help
.PHONY: help build demo test check race fuzz bench conformance interop lint vet preflight schema vuln cover clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

build: ## build bin/mcpcat
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o $(BIN) ./cmd/mcpcat

demo: ## build mcpcat and show the main job on two real servers
	@$(GO) -C testdata/peers run ./cmd/demo

test: ## run the tests (needs Go alone)
	@mkdir -p $(CLAIMS)
	MCPCAT_CASE_CLAIMS=$(CLAIMS) $(GO) test ./...
	MCPCAT_CASE_RAN=$(CLAIMS) $(GO) test -count=1 ./internal/casetest

race: ## run the tests with the race detector
	$(GO) test -race ./...

interop: export GOFLAGS := -trimpath
interop: export CGO_ENABLED := 0
interop: build ## package mcp and mcpcat against servers of three SDKs and the Inspector CLI (node)
	$(GO) -C testdata/peers test ./...
	$(GO) -C testdata/peers-mcpgo vet ./...
	$(GO) -C interop test -count=1 ./... # the cache cannot see that these tests build the product
	conformance/inspector/run.sh $(BIN)

conformance: ## the official suite over the client, and the digest vectors by a second implementation (node)
	node conformance/digest/verify.mjs testdata/digest/vectors.json
	$(GO) -C interop build -o ../bin/conformance-client ./cmd/conformance-client
	conformance/run.sh client bin/conformance-client

fuzz: ## give every fuzz target FUZZTIME (20s)
	@set -e; $(GO) list ./... | while read -r pkg; do \
	  for target in $$($(GO) test -list '^Fuzz' "$$pkg" 2>/dev/null | grep '^Fuzz' || true); do \
	    echo "fuzz $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) "$$pkg"; \
	  done; done

bench: ## run the benchmarks, each beside its floor
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

vet: ## go vet for Linux, macOS and Windows
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=windows $(GO) vet ./...

lint: vet ## formatting, go vet for three systems, staticcheck
	@out=$$($(TOOL) gofumpt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofumpt would change:"; echo "$$out"; exit 1; fi
	$(TOOL) staticcheck ./...

check: lint race ## lint, golangci-lint, go mod tidy and the race detector
	$(GO) mod tidy -diff
	$(GO) -C interop mod tidy -diff
	$(TOOL) golangci-lint run

preflight: ## check the official schema, the wire fixtures and their manifest, offline
	MCPCAT_REQUIRE_SPEC=1 $(GO) test -count=1 -run 'Spec|Wire' ./mcp

schema: ## download the official schema by its commit and check its SHA-256
	@mkdir -p testdata/spec
	curl --proto '=https' --fail --silent --show-error --location --max-time 60 --output $(SPEC).part $(SPEC_URL)
	@sum=$$({ sha256sum $(SPEC).part 2>/dev/null || shasum -a 256 $(SPEC).part; } | cut -d ' ' -f 1); \
	  if [ "$$sum" != $(SPEC_SUM) ]; then rm -f $(SPEC).part; echo "schema has SHA-256 $$sum, want $(SPEC_SUM)" >&2; exit 1; fi
	@mv $(SPEC).part $(SPEC)

vuln: ## look for known vulnerabilities (needs the network)
	$(TOOL) govulncheck ./...

cover: ## statement coverage, scripts included
	$(GO) test -coverpkg=./... -coverprofile=.cache/cover.out ./...
	$(GO) tool cover -func=.cache/cover.out | tail -1

clean: ## remove what the targets built
	rm -rf bin .cache
