#!/bin/sh
# Fuzzes a parser: run.sh TARGET [RUNS]. The targets are the files in the folders of fuzz_targets.
# Each folder has the name of a crate, and only this crate and those below it are compiled. A panic
# is a failure. The parsers have no unsafe code, so they need no sanitizer of memory, which would
# slow them down.
set -eu
cd "$(dirname "$0")"
for file in fuzz_targets/*/"$1.rs"; do
  [ -e "$file" ] || { echo "no target $1; it must be a file in fuzz_targets/*/" >&2; exit 2; }
  crate=$(basename "$(dirname "$file")")
done
cargo +nightly fuzz run --fuzz-dir . --sanitizer none --features "$crate" "$1" -- \
  -runs="${2:-10000000}" -max_len=4096
