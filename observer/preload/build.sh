#!/bin/sh
# Compiles a library that the dynamic linker preloads into programs of the target container, for the
# architecture amd64 or arm64, into a file:
#   build.sh ARCH SOURCE SONAME FILE
# CC is the compiler; by default, gcc of the machine or a cross compiler.
set -eu

case $1 in
  # Without this option, gcc calls functions of libgcc for atomic operations.
  arm64) processor=aarch64 flags=-mno-outline-atomics ;;
  amd64) processor=x86_64 flags= ;;
  *) echo "architecture $1 is not supported; it must be amd64 or arm64" >&2 && exit 2 ;;
esac
[ "$(uname -m)" = "$processor" ] && compiler=gcc || compiler=$processor-linux-gnu-gcc

# No C library, no start files and no function of libgcc. An exception of C++ passes through the
# functions of the library with the help of the unwind tables.
"${CC:-$compiler}" -std=c11 -O2 -g0 -Wall -Wextra -Werror $flags -nostdlib -ffreestanding \
  -fno-builtin -fno-stack-protector -fno-tree-loop-distribute-patterns -fvisibility=hidden \
  -fasynchronous-unwind-tables -fPIC -fno-plt -shared -Wl,-z,now -Wl,-z,noexecstack \
  -Wl,--hash-style=both -Wl,-soname,"$3" -s -o "$4" "$2"

# The dynamic linker would end every program of the container.
if readelf --dynamic "$4" | grep NEEDED ||
  readelf --dyn-syms --wide "$4" | awk '$7 == "UND" && $5 == "GLOBAL"' | grep .; then
  echo "$4 needs a library or a symbol; see above" >&2
  exit 1
fi
