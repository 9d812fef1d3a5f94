PYTHON ?= python3
VENV ?= .venv
OUT ?= out/demo
DEMO ?=
# One more than there are processors: many tests wait for a server or a process.
WORKERS ?= $(shell echo $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )))
SOAK ?=
BENCH ?=
PUBLISH ?=
PEERS ?=
# Empty: PyPI's torch. For the small CPU build: make env TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo env test test-slow peers soak bench publish lint docs drawings pictures clean

demo: env
	$(BIN)/segue demo --out $(OUT) $(DEMO)

env: $(STAMP)

# A step of `make env`: its line, then one every 15 s while its command, which is quiet, runs.
STEP = step() { echo "make env, $$1"; shift; \
	(s=0; while sleep 15 >/dev/null 2>&1; do s=$$((s + 15)); echo "  under way, $$s s"; done) & \
	trap "kill $$! 2>/dev/null" EXIT INT TERM; "$$@"; }; step
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || { $(STEP) "1 of 4: a new environment, $(VENV)" $(PYTHON) -m venv $(VENV); }
	@$(STEP) "2 of 4: torch, the largest download" \
		$(PIP) torch==2.13.0 $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))
	@$(STEP) "3 of 4: Segue, and the packages of constraints.txt" $(PIP) -c constraints.txt -e '.[dev]'
	@# Its loss is what ours is tested against; what else it needs has no build for every torch.
	@$(STEP) "4 of 4: open_clip, for the tests" $(PIP) --no-deps open_clip_torch==3.3.0
	@touch $(STAMP)
	@echo "done; now: source $(BIN)/activate"

# One thread each: more would fight over the processors. Byte code is kept: without it every worker
# compiles every test anew, half of what collecting takes. A file keeps to one process: its tests share
# what they are tried on.
PYTEST = PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

# Everything but what must start servers and processes, wait for real time or kill.
test: env
	$(PYTEST) -m "not slow"

# The rest: real servers, Dask, the browser, kills.
test-slow: env
	$(PYTEST) -m slow

# Beside the programs that read the exports, in an environment of their own, out/peers-venv; some
# gigabytes. make peers PEERS="--only lance,trl"
peers:
	$(MAKE) env VENV=out/peers-venv
	TORCH_INDEX=$(TORCH_INDEX) OMP_NUM_THREADS=1 out/peers-venv/bin/python tests/peers $(PEERS)

# A hundred kills in ten minutes at most. make soak SOAK="--seed 7 --only dask"
# Or one between all writes, or 500 damaged files: SOAK="--between-writes", SOAK="--mutated 500"
soak: env
	$(BIN)/python -m benchmarks.soak $(SOAK)

# Segue beside its peers: apt-get install sox; about half an hour. make bench BENCH="--quick"
bench: env
	$(BIN)/python -m benchmarks.speed $(BENCH)

# For maintainers: the digests of frozen sets. make publish PUBLISH="all --folder FOLDER"
publish: env
	$(BIN)/python -m benchmarks.publish $(PUBLISH)

lint: env
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation site, in out/site; any warning is an error.
docs: env
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "out/site/index.html; to search it, too: $(BIN)/python -m http.server -d out/site 8000, then http://localhost:8000"

# The drawings of docs/architecture.md, from the imports.
drawings: env
	PYTHONPATH=.:docs $(BIN)/python -m drawings

# The pictures of README and docs, by the browser's tests: apt-get install chromium
pictures: env
	SEGUE_SCREENSHOTS=docs/pictures $(BIN)/python -m pytest tests/pipelines/look/test_pictures.py

clean:
	rm -rf $(VENV) out
