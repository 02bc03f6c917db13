# `make demo` and `make test` need Rust and Python, and set up everything else themselves.
.PHONY: demo test lint release instructions docs

release:
	cargo build --release --locked -p farspan-cli

demo: release
	target/release/farspan demo

# Unit, property and golden tests, then the sans-IO crates without the standard library.
test:
	cargo test --workspace --locked
	cargo build --locked --no-default-features -p farspan-units -p farspan-transport -p farspan-fabric

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# The pages and figures of the book that are made from the program and from a few small runs.
docs: release
	python3 docs/generate.py target/release/farspan

# Instructions per packet-hop under callgrind (needs valgrind).
instructions: release
	python3 bench/instructions.py target/release/farspan --probes
