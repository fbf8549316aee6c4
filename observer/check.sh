#!/bin/sh
# Runs the checks of CI on the program of the observers: format, lints and tests, whether the fuzz
# targets compile, and the licences, sources and advisories of its crates. cargo-deny is compiled
# once and kept in the user's cache folder. Without a network, the checks that need it are skipped
# with a message.
set -eu
cd "$(dirname "$0")"

version=0.20.2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/ridealong/cargo-deny-$version

install_deny() {
  [ -x "$cache/bin/cargo-deny" ] && return
  echo "compiling cargo-deny $version; this takes some minutes, but only the first time"
  # It runs for about a second, so it is compiled in the way that takes the least time.
  CARGO_PROFILE_DEV_DEBUG=none cargo install --locked --quiet --debug \
    --version "$version" --root "$cache" cargo-deny
}

check_crates() {
  PATH=$cache/bin:$PATH
  cargo deny --locked check licenses bans sources
  if timeout 120 cargo deny --locked fetch db 2>/dev/null; then
    cargo deny --locked --offline check advisories
  else
    echo 'the RustSec advisory database cannot be fetched; vulnerabilities are not checked'
  fi
}

cargo fmt --check --all
cargo clippy --locked --workspace --all-targets -- -D warnings
cargo test --locked --workspace --quiet
cargo check --locked --quiet --manifest-path fuzz/Cargo.toml --all-features
if install_deny; then
  check_crates
else
  echo 'cargo-deny cannot be installed; licences, sources and vulnerabilities are not checked'
fi
