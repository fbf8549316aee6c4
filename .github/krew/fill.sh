#!/bin/sh
# Prints the manifest of the kubectl plugin for krew, with the values of a release.
#   fill.sh VERSION REPOSITORY ARCHIVE      REPOSITORY is OWNER/NAME on GitHub
set -eu
sum=$(sha256sum "$3" | cut -d ' ' -f 1)
sed -e '/^#/d' -e "s|@VERSION@|$1|g" -e "s|@REPOSITORY@|$2|g" -e "s|@SHA256@|$sum|g" \
  "$(dirname "$0")/ridealong.yaml"
