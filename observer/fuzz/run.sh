#!/bin/sh
# Fuzzes a parser: run.sh TARGET [RUNS]. The targets are the files in fuzz_targets and its folders.
# A panic is a failure. The parsers have no unsafe code, so they need no sanitizer of memory, which
# would slow them down.
set -eu
cd "$(dirname "$0")"
cargo +nightly fuzz run --fuzz-dir . --sanitizer none "$1" -- -runs="${2:-10000000}" -max_len=4096
