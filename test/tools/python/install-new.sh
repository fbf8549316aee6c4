#!/bin/sh
# Installs the CPython versions of Debian sid that are newer than those of the machine, without
# changing the machine: into ~/.cache/ridealong/debian-sid, where the tests of Python find them.
# Needs root, debootstrap and patchelf. Their C library is newer too, so the programs get the path
# of its loader.
set -eu
root=${XDG_CACHE_HOME:-$HOME/.cache}/ridealong/debian-sid
versions='python3.14 python3.15'
if [ ! -e "$root" ]; then
  mkdir -p "$(dirname "$root")"
  debootstrap --variant=minbase --include="$(echo $versions | tr ' ' ,)" sid "$root.new"
  for loader in "$root.new"/lib64/ld-linux-x86-64.so.2 "$root.new"/lib/ld-linux-aarch64.so.1; do
    [ -e "$loader" ] && found=${loader#"$root.new"}
  done
  libraries=$(dirname "$(find "$root.new/usr/lib" -name libexpat.so.1 | head -1)")
  for version in $versions; do
    patchelf --set-interpreter "$root$found" --set-rpath "$root${libraries#"$root.new"}" \
      "$root.new/usr/bin/$version"
  done
  mv "$root.new" "$root"
fi
for version in $versions; do "$root/usr/bin/$version" --version; done
