#!/bin/sh
# Runs the metrics about GPUs and PyTorch with a real GPU, and prints a table of what was compared:
#
#   test/gpu/check.sh build        builds the programs into test/gpu/programs; needs Rust and gcc
#   test/gpu/check.sh [--no-gpu]   runs them; needs root on Linux, Python with PyTorch, and a GPU of
#                                  NVIDIA with its driver, but no network, compiler or Kubernetes
#
# PYTHON is the Python that has PyTorch, python3 by default. --no-gpu runs the parts that need no
# GPU, with Gloo. The exit code is 0 if each comparison that was run is good, otherwise 1.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
programs=$here/programs

if [ "${1:-}" = build ]; then
  observer=$here/../../observer
  rm -rf "$programs"
  mkdir -p "$programs"
  (cd "$observer" && cargo build --release --locked --quiet)
  cp "${CARGO_TARGET_DIR:-$observer/target}/release/ridealong-observer" "$programs"
  "$observer/gpu/build.sh" amd64 "$programs/gpu-nvidia"
  "$observer/torch/build.sh" amd64 "$programs/torch-collectives"
  mkdir "$programs/python-profile"
  "$observer/python/build.sh" amd64 "$programs/python-profile/libridealong-python.so"
  du -sh "$programs"
  exit
fi

if [ ! -d "$programs" ]; then
  echo "$programs is missing; run $0 build on a machine with Rust and gcc, and copy it" >&2
  exit 2
fi
[ "$(id -u)" = 0 ] || { echo "$0 needs root, for the namespaces of a pod" >&2; exit 2; }
exec "${PYTHON:-python3}" "$here/check.py" "$@"
