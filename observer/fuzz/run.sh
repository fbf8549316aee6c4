#!/bin/sh
# Fuzzes a parser: run.sh TARGET [RUNS]. The targets are the files in fuzz_targets and its folders.
set -eu
cd "$(dirname "$0")"
cargo +nightly fuzz run --fuzz-dir . "$1" -- -runs="${2:-10000000}" -max_len=4096
