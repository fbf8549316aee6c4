#!/bin/sh
# Builds the program of the observers for the architecture amd64 or arm64:
#   build.sh prepare ARCH         installs a cross compiler on Debian if the machine needs one
#   build.sh install ARCH FOLDER  compiles the program into FOLDER, with a link for each name
set -eu

case $2 in
  amd64) processor=x86_64 compiler=x86-64-linux-gnu ;;
  arm64) processor=aarch64 compiler=aarch64-linux-gnu ;;
  *) echo "architecture $2 is not supported; it must be amd64 or arm64" >&2 && exit 2 ;;
esac
target=$processor-unknown-linux-gnu
is_other=$([ "$(uname -m)" = "$processor" ] || echo yes)

prepare() {
  [ -n "$is_other" ] || return 0
  rustup target add "$target"
  apt-get update
  apt-get install -y --no-install-recommends "gcc-$compiler" "libc6-dev-$1-cross"
  rm -rf /var/lib/apt/lists/*
}

install_program() {
  if [ -n "$is_other" ]; then
    linker=CARGO_TARGET_$(echo "$target" | tr a-z- A-Z_)_LINKER
    export "$linker=$processor-linux-gnu-gcc"
  fi
  cargo build --release --locked --target "$target"
  mkdir -p "$2"
  cp "${CARGO_TARGET_DIR:-target}/$target/release/ridealong-observer" "$2"
  # Each metric has a folder with its name; a unit test compares the folders with the list.
  for folder in crates/observer/src/metrics/*/; do
    ln -s ridealong-observer "$2/$(basename "$folder" | tr _ -)"
  done
  for name in hold install push; do
    ln -s ridealong-observer "$2/$name"
  done
}

case $1 in
  prepare) prepare "$2" ;;
  install) install_program "$2" "$3" ;;
  *) echo "unknown step $1; it must be prepare or install" >&2 && exit 2 ;;
esac
