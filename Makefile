# `make demo` and `make test` need Rust and Python, and set up everything else themselves.
.PHONY: demo test lint release lab instructions docs book python wheel dist

# `make demo` builds the simulator with its reports, sweeps and plots. Everything else is built with these features as well, each by
# its name: tests, lints and releases cover all of them. `farspan kernel` is among them where its eBPF programs can be built:
# KERNEL= leaves it out, KERNEL=farspan-cli/kernel asks for it.
KERNEL ?= $(shell command -v clang >/dev/null && test -e /usr/include/libelf.h -a -e /usr/include/zlib.h -a -e /usr/include/linux/bpf.h && echo farspan-cli/kernel)
FEATURES = farspan-cli/emu farspan-cli/import farspan-cli/ledger $(KERNEL)
WITH_FEATURES = --features "$(FEATURES)"

# The Python crate is named for its features alone: the wheel then finds everything built that it shares with the program.
release:
	cargo build --release --locked $(WITH_FEATURES) -p farspan-cli -p farspan-lab -p farspan-python --bin farspan --bin farspan-lab

# The program of farspan's makers: benchmarks of single parts, pages that are made from the source.
lab:
	cargo build --release --locked -p farspan-lab

# With the system's allocator: simulations are as fast, and jemalloc takes long to build.
demo:
	cargo build --release --locked --no-default-features -p farspan-cli --bin farspan
	$${CARGO_TARGET_DIR:-target}/release/farspan demo

# Unit, property and golden tests, then the sans-IO crates without the standard library. Tests take the system's allocator
# (no jemalloc, the one default feature), and leave no incremental state.
test: export CARGO_INCREMENTAL ?= 0
test:
	cargo test --workspace --no-default-features $(WITH_FEATURES) --locked
	cargo check --locked --no-default-features -p farspan-units -p farspan-transport -p farspan-fabric

# The Python package: the wheel, its tests with doctests and the docs' examples, types, style, notebooks. What the wheel
# shares with the program is not built again.
VENV ?= out/venv
$(VENV)/bin/maturin:
	python3 -m venv $(VENV) && $(VENV)/bin/pip install --quiet 'maturin>=1.9.4,<2'

python: release $(VENV)/bin/maturin
	rm -rf out/wheels
	PATH="$(abspath $(VENV))/bin:$$PATH" $(VENV)/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir out/wheels .
	$(VENV)/bin/pip install --quiet --no-deps --force-reinstall out/wheels/*.whl
	$(VENV)/bin/pip install --quiet "$$(ls out/wheels/*.whl)[dev]"
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	FARSPAN_BINARY=$${CARGO_TARGET_DIR:-target}/release/farspan $(VENV)/bin/pytest --quiet -rs
	for notebook in notebooks/*.py; do echo "$$notebook"; MPLBACKEND=agg $(VENV)/bin/python "$$notebook" >out/notebook.txt || exit 1; done

# tools/lint.py, the numbers that statements say a paper prints, rustfmt, clippy and rustdoc. The documentation reads the metadata
# that clippy made, under clippy's own words for its options: without them cargo would make it again.
# LINTS: which lints of tools/lint.py run, all where none is named.
lint:
	python3 tools/lint_tests.py
	python3 tools/lint.py $(LINTS)
	python3 tools/test_check_statements.py
	python3 tools/check_statements.py
	python3 docs/test_tree.py
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --no-default-features $(WITH_FEATURES) --locked -- -D warnings
	RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ \
	  RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --no-default-features $(WITH_FEATURES) --locked

# The pages and figures of the book that are made from the program and from a few small runs.
docs: release
	python3 docs/generate.py $${CARGO_TARGET_DIR:-target}/release/farspan

# The book with a table of contents and search: out/book/index.html. It links to where farspan is published, once that is known.
REPOSITORY = $(shell sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)
book:
	command -v mdbook >/dev/null || test -x out/mdbook/bin/mdbook || cargo install mdbook --locked --root out/mdbook
	PATH="$(abspath out/mdbook/bin):$$PATH" $(if $(REPOSITORY),MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL="$(REPOSITORY)") mdbook build docs

# Instructions per packet-hop under callgrind (needs valgrind).
instructions: release
	python3 bench/instructions.py $${CARGO_TARGET_DIR:-target}/release/farspan --probes

# A release in out/dist: what others install. Each of the two builds everything anew in a folder of its own, for several CPU minutes.
RELEASE_TARGET = $(shell rustc -vV | sed -n 's/^host: //p')
BUILT = $${CARGO_TARGET_DIR:-target}

# The wheel, for every Linux with glibc 2.28 or newer: zig links against the symbols that this one had.
wheel: $(VENV)/bin/maturin
	$(VENV)/bin/pip install --quiet 'ziglang>=0.13,<0.18'
	rm -f out/dist/*.whl
	PATH="$(abspath $(VENV))/bin:$$PATH" maturin build --release --locked --zig --compatibility manylinux_2_28 --strip --target-dir $(BUILT)/wheel --out out/dist
	python3 tools/release.py wheel

# The program, static. Without the cfg, hashing would look for getrandom in a shared libc, find none, and read /dev/urandom.
dist: export RUSTFLAGS = -C target-feature=+crt-static --cfg getrandom_backend="linux_getrandom"
dist:
	rm -f out/dist/*.tar.gz
	cargo build --release --locked $(WITH_FEATURES) --target $(RELEASE_TARGET) --target-dir $(BUILT)/dist -p farspan-cli --bin farspan
	python3 tools/release.py program $(BUILT)/dist/$(RELEASE_TARGET)/release/farspan
