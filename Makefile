# make demo    a real training, drilled: killed in mid-training and in mid-save, compared with the uninterrupted one
# make test    everything that must hold: make check, then all test lanes (see CONTRIBUTING.md)
# make check   lint, types, layers, docs
# make docs    writes the generated reference again
# make soak    what takes longer than make test may
# make bench   the table in bench/RESULTS.md

PYTHON ?= python3
BIN := .venv/bin

# Without byte code every start of the program compiles it again.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH

.PHONY: demo test check docs soak bench lane-% tool everything clean

demo: tool
	@$(BIN)/python tools/demo.py

test: everything
	@$(BIN)/python tools/lanes.py

check: everything
	@$(BIN)/python tools/lanes.py check

# One lane by itself: make lane-store
lane-%: everything
	@$(BIN)/python tools/lanes.py $*

docs: tool
	@$(BIN)/python tools/generate_reference.py

soak: everything
	@$(BIN)/python -m pytest -q -n 2 -m soak tests

bench: everything
	@$(BIN)/python -m bench.bench

tool:
	@$(PYTHON) tools/install.py tool

everything:
	@$(PYTHON) tools/install.py test

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
