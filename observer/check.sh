#!/bin/sh
# Checks the program of the observers as CI does. The advisories of cargo-deny need the network, and
# are left to `cargo deny check advisories`.
set -eu
cd "$(dirname "$0")"
cargo fmt --check
cargo clippy --locked --all-targets -- -D warnings
cargo test --locked --quiet
if command -v cargo-deny >/dev/null; then
  cargo deny --locked check licenses bans sources
else
  echo 'cargo-deny is not installed; the licences and sources of crates are not checked'
fi
