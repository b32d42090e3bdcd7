# Every target does its own set-up on Debian or Ubuntu, as root or with sudo. They need Go 1.26, git and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

BIN := bin
export GPUNEX_BIN := $(CURDIR)/$(BIN)
# Address of make run's pages.
export LISTEN ?= :8080
# make sim: replay one world, make it longer, give it more hosts.
SEED ?=
STEPS ?=
HOSTS ?=
# make bench: one figure.
export ONLY ?=

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: run
run: build ## the platform on http://localhost:8080 with a simulated host and demo people
	@scripts/setup.sh postgres
	@scripts/run.sh

.PHONY: demo
demo: build ## the whole story headless with real parts, one line a step
	@scripts/setup.sh postgres docker
	@scripts/with-docker.sh scripts/demo.sh

.PHONY: test
test: ## everything that must hold; what CI runs
	@scripts/test.sh

.PHONY: check
check: ## fast: format, vet, lint, architecture, tests that need no services
	@scripts/check.sh

.PHONY: lint
lint: ## golangci-lint, built the first time (about 3 minutes)
	@scripts/lint.sh

.PHONY: race
race: ## the tests under the race detector
	@scripts/setup.sh postgres
	go test -race -count=1 -timeout 30m ./internal/... ./cmd/...

.PHONY: sim
sim: ## simulated worlds under virtual time; SEED=N replays one, STEPS=N HOSTS=N make it larger
	@scripts/setup.sh postgres
	go test ./internal/sim -run TestWorld -count=1 -v -timeout 30m -args $(if $(SEED),-seed=$(SEED)) $(if $(STEPS),-steps=$(STEPS)) $(if $(HOSTS),-hosts=$(HOSTS))

.PHONY: fuzz
fuzz: ## every fuzz target for 10 seconds; FUZZTIME=1m for longer
	@scripts/fuzz.sh

.PHONY: bench
bench: build ## figures of this machine, as name value unit; ONLY=NAME measures one
	@scripts/setup.sh postgres docker
	@scripts/with-docker.sh scripts/bench.sh

.PHONY: generate
generate: ## pages and assets from their sources
	@scripts/setup.sh node
	@scripts/generate.sh

.PHONY: build
build: ## bin/gpunexd and bin/gpunex-agent
	@mkdir -p $(BIN)
	go build -o $(BIN)/ ./cmd/gpunexd ./cmd/gpunex-agent

.PHONY: image
image: ## the container image that demo and tests rent, built from nothing
	@scripts/setup.sh docker
	@scripts/with-docker.sh scripts/build-image.sh

.PHONY: setup
setup: ## install everything that any target needs
	@scripts/setup.sh postgres docker browser node

.PHONY: clean
clean: ## remove what was built; the linter in .cache/bin and the data of make run in .data stay
	@scripts/dockerd.sh stop
	rm -rf $(BIN) .cache/*.log
