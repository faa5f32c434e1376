# `make demo` and `make test` need only Python >= 3.11 and make; each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo check test bench league league-quick results proof docs clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/.core: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "causewatch needs Python 3.11 or newer; set PYTHON=…")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	touch $@

setup: $(VENV)/.dev ## everything needed to develop

demo: $(VENV)/.core ## the whole story on a simulated water plant: learn, watch attacks, report
	$(BIN)/causewatch demo --out demo --force

check: $(VENV)/.dev ## linters, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: $(VENV)/.dev ## all tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup

bench: $(VENV)/.bench ## speed and memory, as ratios to peers
	$(BIN)/python -m benchmarks.speed.learning
	$(BIN)/python -m benchmarks.speed.within_tick
	$(BIN)/python -m benchmarks.speed.memory
	$(BIN)/python -m benchmarks.accuracy.links
	$(BIN)/python -m benchmarks.accuracy.within_tick
	$(BIN)/python -m benchmarks.accuracy.interval
	$(BIN)/python -m benchmarks.accuracy.first_stage
	$(BIN)/python -m benchmarks.speed.watching
	$(BIN)/python -m benchmarks.speed.batch
	$(BIN)/python -m benchmarks.speed.published
	$(BIN)/python -m benchmarks.speed.plant
	$(BIN)/python -m benchmarks.accuracy.water_plant
	$(BIN)/python -m benchmarks.accuracy.plant_as_published
	$(BIN)/python -m benchmarks.accuracy.plants
	$(BIN)/python -m benchmarks.accuracy.batadal
	$(BIN)/python -m benchmarks.accuracy.causrca
	$(BIN)/python -m benchmarks.speed.metrics
	$(BIN)/python -m benchmarks.accuracy.false_alarms
	$(BIN)/python -m benchmarks.accuracy.causes

league: $(VENV)/.dev ## nine detectors on every recording, counted alike; resumable, under an hour
	$(BIN)/python -m benchmarks.league

league-quick: $(VENV)/.dev ## the same on one small simulated recording
	$(BIN)/python -m benchmarks.league --quick

results: $(VENV)/.bench ## the other tables of docs/results
	$(BIN)/python -m benchmarks.results

proof: $(VENV)/.bench ## long proofs: the published method, rough rows, kills, brokers, damaged files, memory, trouble
	$(BIN)/python -m benchmarks.accuracy.published_equality
	$(BIN)/python -m benchmarks.speed.soak
	$(BIN)/python -m benchmarks.proof.kills
	$(BIN)/python -m benchmarks.proof.mqtt
	$(BIN)/python -m benchmarks.proof.hostile
	$(BIN)/python -m benchmarks.proof.tables
	$(BIN)/python -m benchmarks.proof.memory
	$(BIN)/python -m benchmarks.proof.blind
	$(BIN)/python -m benchmarks.proof.viewers
	$(BIN)/python -m benchmarks.proof.smooth

docs: $(VENV)/.dev ## regenerate what in docs/ is generated
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/screens.py

clean: ## remove what make created
	rm -rf $(VENV) demo
