# Everything here sets itself up first: cargo, node and npm are all that is asked of you.
# `make` alone prints this list.

.DEFAULT_GOAL := help
.PHONY: help dev test lint unit model simulate coverage mutants mutants-changed e2e chaos fuzz hostile schema demo build build-lab dry-run bench bench-steps bench-flows setup doctor clean

export PORT HOST STATE TOKEN BUDGET MINUTES SEED SEEDS TARGET REQUESTS ONLY BRANCHES BASE MOST JOBS ROUNDS SIZE

help: ## Print this list
	@echo "Onceward: exactly-once functions for webhooks and API calls, on Cloudflare Workers"
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "Next: make dev"

dev: ## Build and serve on http://127.0.0.1:8787 (PORT=, HOST=, STATE= data folder, TOKEN= API token)
	@exec scripts/dev.sh

demo: ## Send one real GitHub push three times at once, and show what came of it
	@exec scripts/demo.sh

test: ## Run every test, as CI does: lints, native, fuzzing, workerd, chaos, schema, dry run, coverage, mutants (half an hour and more)
	@exec scripts/test.sh all

lint: ## Formatting and clippy, native and wasm, warnings denied
	@exec scripts/test.sh lint

unit: ## Native tests only (fast, no workerd)
	@exec scripts/test.sh unit

model: ## Model check the task machine, further than `make unit` does (some five minutes)
	@exec scripts/test.sh model

coverage: ## Which lines and branches of the deciders the native tests take; fails below 95 % of branches (BRANCHES=)
	@exec scripts/coverage.sh

mutants: ## Break everything in the machine in turn, and see that a test notices (half an hour and more; JOBS=2)
	@exec scripts/mutants.sh all

mutants-changed: ## The same for what has changed since the last merge (BASE=), at most MOST=40 of them
	@exec scripts/mutants.sh changed

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

schema: ## Validate docs/openapi.json, and test the lab build against it (BUDGET=100 seconds; Python 3.10 with venv)
	@exec scripts/schemathesis.sh

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

bench-flows: ## Measure what a task of a flow costs, beside the same step in Rust (ROUNDS=10, SIZE=200)
	@exec scripts/bench.sh flows

setup: ## Install what is missing (every other target does that too)
	@exec scripts/setup.sh --force

doctor: ## Check the toolchain; say what is missing and what to do
	@exec scripts/doctor.sh

clean: ## Remove builds and local data; installed tools stay
	rm -rf build build-lab target .state .wrangler .tools/*.stamp*
