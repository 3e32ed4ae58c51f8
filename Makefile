# Everything lives in .venv. `make demo` and `make test` set it up by themselves.
PROJECTS := core/pyproject.toml cmd/scheduler/pyproject.toml cmd/shell/pyproject.toml tools/control-plane/pyproject.toml tools/sandbox/pyproject.toml tools/skyctl/pyproject.toml
BIN := .venv/bin

.PHONY: demo test check format diagram crds lock clean help

demo: .venv/ready           ## a gang lands on its zone, in a picture
	@$(BIN)/skyctl demo

test: .venv/ready           ## run the tests
	@$(BIN)/pytest

check: .venv/ready          ## lint, format, types, import contracts, house rules, state diagram, deploy/crds
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tools/workshop/tidy.py
	@$(BIN)/python tools/workshop/state_diagram.py --check
	@$(BIN)/python tools/workshop/crds.py --check

format: .venv/ready         ## put the code into shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

diagram: .venv/ready        ## draw the task states anew in core/README.md
	@$(BIN)/python tools/workshop/state_diagram.py

crds: .venv/ready           ## write deploy/crds anew from the wire structs
	@$(BIN)/python tools/workshop/crds.py

lock: .venv/ready           ## choose versions of dependencies anew
	@$(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 --group dev $(PROJECTS) --output-file requirements.lock

clean:                      ## remove .venv and every cache
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

help:                       ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 10

.venv/ready: requirements.lock pyproject.toml $(PROJECTS) tools/setup
	@tools/setup $(dir $(PROJECTS))
	@touch $@
