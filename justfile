# Development tasks; `just` lists them. `.ci/run` runs the same checks in order.

set shell := ["bash", "-euo", "pipefail", "-c"]

_default:
    @just --list --unsorted

# Everything that CI runs
all:
    .ci/run

# What to run before a commit: format, lints, tests, documentation
check: format-check lint test doc

# Play the life of a session
demo *ARGS:
    cargo run --release -- demo {{ ARGS }}

# The tests that need nothing but Rust
test *ARGS:
    cargo test {{ ARGS }}

# The tests that need Node, Python and a browser, and the long ones
test-ignored: pi browser
    cargo test --release --tests -- --ignored

# Install the pi packages that are the oracle of some tests
pi:
    cd tests/pi && npm ci --ignore-scripts --no-audit --no-fund

# Install what drives the browser of some tests; Chromium or Chrome itself must be there
browser:
    cd tests/browser && npm ci --ignore-scripts --no-audit --no-fund

# Run the examples
examples:
    cargo run --quiet --release --example plans
    cargo run --quiet --release --example two_processes
    cargo run --quiet --release --example read_pi

# Lints, with warnings denied
lint:
    cargo clippy --all-targets --all-features -- -D warnings
    cargo clippy --no-default-features --lib -- -D warnings

# Format the sources
format:
    cargo fmt

# Check the format of the sources
format-check:
    cargo fmt --check

# Build the documentation, with warnings denied
doc *ARGS:
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps {{ ARGS }}

# Measure each thing beside its floor
bench *ARGS:
    cargo bench --bench ratios {{ ARGS }}

# Compile the benchmarks
bench-build:
    cargo bench --no-run

# Licences and advisories of the dependencies (needs cargo-deny)
deny:
    cargo deny check
