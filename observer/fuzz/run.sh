#!/bin/sh
# Fuzzes a parser: run.sh TARGET [RUNS]. The program of a crate, fuzz_targets/CRATE/main.rs, lists
# its targets. Only this crate and those below it are compiled. A panic is a failure. The parsers
# have no unsafe code, so they need no sanitizer of memory, which would slow them down.
set -eu
cd "$(dirname "$0")"
list=$(grep -lF "(\"$1\", " fuzz_targets/*/main.rs) ||
  { echo "no target $1; it must be in a list in fuzz_targets/*/main.rs" >&2; exit 2; }
crate=$(basename "$(dirname "$list")")
mkdir -p "corpus/$1"
FUZZ_TARGET=$1 cargo +nightly fuzz run --fuzz-dir . --sanitizer none --features "$crate" \
  "fuzz-$crate" "corpus/$1" -- -runs="${2:-10000000}" -max_len=4096
