# Everything lives in .venv. `make demo` and `make test` set it up by themselves.
PROJECTS := core/pyproject.toml tools/skyctl/pyproject.toml
BIN := .venv/bin

.PHONY: demo test check format lock clean

demo: .venv/ready           ## a gang lands on its zone, in a picture
	@$(BIN)/skyctl demo

test: .venv/ready           ## the tests
	@$(BIN)/pytest

check: .venv/ready          ## lint, types, import contracts
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: .venv/ready
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

lock: .venv/ready           ## choose versions anew
	@$(BIN)/uv pip compile --quiet --upgrade --python-version 3.11 --group dev $(PROJECTS) --output-file requirements.lock

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

.venv/ready: requirements.lock pyproject.toml $(PROJECTS) tools/setup
	@tools/setup $(dir $(PROJECTS))
	@touch $@
