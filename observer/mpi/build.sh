#!/bin/sh
# Compiles the recorder of MPI calls for the architecture amd64 or arm64 into a file:
#   build.sh ARCH FILE
# CC is the compiler; see ../preload/build.sh.
set -eu

folder=$(cd "$(dirname "$0")" && pwd)
exec "$folder/../preload/build.sh" "$1" "$folder/recorder.c" libridealong-mpi.so "$2"
