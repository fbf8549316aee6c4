#!/bin/sh
# Builds the tool that reads the GPUs of NVIDIA for the architecture amd64 or arm64 into a folder:
#   build.sh ARCH FOLDER
# CC is the compiler; see ../preload/build.sh.
set -eu

folder=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
"$folder/../preload/build.sh" "$1" "$folder/preload.c" libridealong-gpu.so "$2/libridealong-gpu.so"

[ "$1" = arm64 ] && processor=aarch64 || processor=x86_64
[ "$(uname -m)" = "$processor" ] && compiler=gcc || compiler=$processor-linux-gnu-gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() {
  "${CC:-$compiler}" -std=c11 -O2 -Wall -Wextra -Werror -U_FORTIFY_SOURCE -fno-stack-protector "$@"
}

# The reader is linked with stand-ins for the libraries of glibc, which have the names of all the
# functions that it uses, and no versions. So it needs no version of glibc that an image may lack.
compile -c -fPIE "$folder/reader.c" -o "$work/reader.o"
stand_in() {
  while read -r name; do echo "void $name(void); void $name(void) {}"; done |
    compile -fno-builtin -shared -fPIC -nostdlib -Wl,-soname,"$1" -x c - -o "$work/$1"
}
functions=$(nm --undefined-only "$work/reader.o" | awk '{ print $2 }' | grep -v '^_')
echo "$functions" | grep '^dl' | stand_in libdl.so.2
{ echo "$functions" | grep -v '^dl'; echo __libc_start_main; echo abort; } | stand_in libc.so.6
compile -pie -nodefaultlibs -Wl,-z,now -Wl,-z,noexecstack -s "$work/reader.o" "$work/libc.so.6" \
  "$work/libdl.so.2" -o "$2/ridealong-gpu"
if readelf --version-info "$2/ridealong-gpu" | grep -q "Version needs"; then
  echo "$2/ridealong-gpu needs a version of a library" >&2
  exit 1
fi
