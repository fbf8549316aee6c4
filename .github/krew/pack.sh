#!/bin/sh
# Makes the archive of the kubectl plugin for krew from the npm package, which contains the
# libraries.
#   pack.sh PACKAGE ARCHIVE      PACKAGE is the file of `npm pack`
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -xzf "$1" -C "$folder"
tar -czf "$2" -C "$folder/package" --owner=0 --group=0 --sort=name dist LICENSE
