# Each target does its own set-up on Debian or Ubuntu, as root or with sudo.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := bin
export GPUNEX_BIN := $(CURDIR)/$(BIN)
SEED ?=
STEPS ?=
ONLY ?=

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: run
run: build ## the platform on http://localhost:8080 with a simulated host and demo people
	@scripts/setup.sh postgres
	@scripts/dockerd.sh start || true
	@if docker info >/dev/null 2>&1; then scripts/build-image.sh; fi
	@$(BIN)/gpunexd dev --data .data; scripts/dockerd.sh stop

.PHONY: demo
demo: build ## the whole story headless with real parts, one line a step
	@scripts/setup.sh postgres docker
	@scripts/with-docker.sh scripts/demo.sh

.PHONY: test
test: ## everything that must hold; what CI runs
	@scripts/test.sh

.PHONY: check
check: ## fast: format, vet, lint, architecture, unit tests that need no services
	@scripts/check.sh

.PHONY: lint
lint: ## golangci-lint
	@scripts/lint.sh

.PHONY: race
race: ## the tests under the race detector
	@scripts/setup.sh postgres
	go test -race -count=1 ./internal/...

.PHONY: sim
sim: ## a simulated world with virtual time; SEED= replays one, STEPS= makes it longer
	@scripts/setup.sh postgres
	go test ./internal/sim -run TestWorld -count=1 -v -timeout 30m -args $(if $(SEED),-seed=$(SEED)) $(if $(STEPS),-steps=$(STEPS))

.PHONY: fuzz
fuzz: ## every fuzz target for ten seconds
	@scripts/fuzz.sh

.PHONY: bench
bench: build ## figures of this machine, as name value unit; ONLY=NAME measures one
	@scripts/setup.sh postgres docker
	@ONLY="$(ONLY)" scripts/with-docker.sh scripts/bench.sh

.PHONY: generate
generate: ## pages and assets from their sources
	go tool templ generate -path internal/web/ui
	npm ci --no-audit --no-fund
	npm run build

.PHONY: build
build: ## bin/gpunexd and bin/gpunex-agent
	@mkdir -p $(BIN)
	go build -o $(BIN)/ ./cmd/gpunexd ./cmd/gpunex-agent

.PHONY: image
image: ## the container image that demo and tests rent, built from nothing
	@scripts/setup.sh docker
	@scripts/with-docker.sh scripts/build-image.sh

.PHONY: clean
clean: ## remove what was built; the data of make run stays in .data
	rm -rf $(BIN) .cache
