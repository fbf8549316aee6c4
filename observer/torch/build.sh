#!/bin/sh
# Builds the tool that records the collectives of PyTorch for the architecture amd64 or arm64 into a
# folder:
#   build.sh ARCH FOLDER
# CC is the compiler; see ../preload/build.sh.
set -eu

folder=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
cp "$folder/sitecustomize.py" "$folder/recorder.py" "$2"
"$folder/../preload/build.sh" "$1" "$folder/preload.c" libridealong-torch.so \
  "$2/libridealong-torch.so"
