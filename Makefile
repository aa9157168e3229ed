# Everything here sets itself up first: cargo, node and npm are all that is asked of you.
# `make` alone prints this list.

.DEFAULT_GOAL := help
.PHONY: help dev test lint unit model e2e demo build build-lab dry-run simulate chaos fuzz hostile bench bench-steps setup doctor clean

export PORT HOST STATE TOKEN MINUTES SEED SEEDS TARGET REQUESTS ONLY

help: ## Print this list
	@echo "Onceward: exactly-once functions for webhooks and API calls, on Cloudflare Workers"
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "Next: make dev"

dev: ## Build and serve on http://127.0.0.1:8787 (PORT=, HOST=, STATE= data folder, TOKEN= API token)
	@exec scripts/dev.sh

demo: ## Send one real GitHub push three times at once, and show what came of it
	@exec scripts/demo.sh

test: ## Run every test: lints, native, end to end on workerd, deploy dry run
	@exec scripts/test.sh all

lint: ## Formatting and clippy, native and wasm, warnings denied
	@exec scripts/test.sh lint

unit: ## Native tests only (fast, no workerd)
	@exec scripts/test.sh unit

model: ## Model check the task machine, further than `make unit` does (some ten minutes)
	@exec scripts/test.sh model

e2e: ## End-to-end tests on workerd only
	@exec scripts/test.sh e2e

simulate: ## Run the whole runtime on a virtual clock with faults at every effect (SEEDS=500, 20..90 or 3,17)
	@exec scripts/simulate.sh

chaos: ## Kill the server and make its parts fail while thousands of deliveries come in, then judge (MINUTES=3, SEED=)
	@exec scripts/chaos.sh

fuzz: ## Throw mutated input at everything that parses the outside (TARGET=, all of them without; MINUTES=8, SEED=)
	@exec scripts/fuzz.sh

hostile: ## Send random requests to workerd, and judge every answer (REQUESTS=100000, SEED=, ONLY= one of them)
	@exec scripts/hostile.sh

build: ## Build what is deployed, into build/
	@exec scripts/build.sh release

build-lab: ## Build for development and tests, into build-lab/
	@exec scripts/build.sh lab

dry-run: ## Build and check a deploy without deploying
	@exec scripts/test.sh dry-run

bench: ## Measure a first delivery and a duplicate, beside an object that only inserts a row
	@exec scripts/bench.sh

bench-steps: ## Measure what a step costs in short and long tasks, and how soon a killed task goes on
	@exec scripts/bench.sh steps

setup: ## Install what is missing (every other target does that too)
	@exec scripts/setup.sh --force

doctor: ## Check the toolchain; say what is missing and what to do
	@exec scripts/doctor.sh

clean: ## Remove builds and local data; installed tools stay
	rm -rf build build-lab target .state .wrangler .tools/*.stamp*
