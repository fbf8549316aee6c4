#!/bin/sh
# Makes the archive of the kubectl plugin for krew: the npm package with its dependencies.
#   pack.sh PACKAGE ARCHIVE      PACKAGE is the file of `npm pack`
# npm ci installs the versions of package-lock.json, which the npm package does not contain.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -xzf "$1" -C "$folder"
cp "$root/package-lock.json" "$folder/package"
npm ci --prefix "$folder/package" --omit=dev --ignore-scripts --no-audit --no-fund
# krew extracts no links (internal/download/downloader.go, extractTARGZ). Nothing uses these links.
find "$folder/package/node_modules" -name .bin -type d -prune -exec rm -r {} +
chmod +x "$folder/package/dist/cli/main.js"
tar -czf "$2" -C "$folder/package" --owner=0 --group=0 --sort=name \
  dist node_modules package.json LICENSE
