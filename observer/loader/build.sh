#!/bin/sh
# Makes the folder that cpu-profile mounts into the target, on Debian bookworm:
#   build.sh FOLDER
# FOLDER then has our loader, and the CPU profiler of gperftools with the libraries that it needs,
# except the C library. The packages gcc, libc6-dev, patchelf, libgoogle-perftools4 and libunwind8
# must be installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
libraries=/usr/lib/$(uname -m)-linux-gnu
mkdir -p "$folder"

compile() {
  gcc -std=c11 -O2 -Wall -Wextra -Werror -fno-stack-protector -fPIC -shared -Wl,-z,now \
    -Wl,--hash-style=both -s -Wl,-soname,"$1" -o "$folder/$@"
}

# Fails if a library has undefined symbols other than weak ones, or needs another library.
check_loader() {
  if readelf -d "$folder/loader.so" | grep NEEDED ||
    nm -D --undefined-only "$folder/loader.so" | grep -v ' w '; then
    echo "$folder/loader.so must need nothing; see loader.c" >&2
    exit 1
  fi
}

# Copies a library under another name, so that a library that the application loads later does not
# get ours. (patchelf 0.14 mixes the two settings up if it changes them at once.)
take() {
  cp "$(readlink -f "$libraries/$1")" "$folder/$2"
  chmod 755 "$folder/$2"
  patchelf --set-soname "$2" "$folder/$2"
  patchelf --set-rpath '$ORIGIN' "$folder/$2"
}

# Replaces functions of the C library by functions of loader.c, whose names have the same lengths:
#   replace LIBRARY OLD=NEW...
replace() {
  library=$1
  shift
  for pair in "$@"; do
    LC_ALL=C sed -i "s/\\x00${pair%=*}\\x00/\\x00${pair#*=}\\x00/" "$folder/$library"
    if ! nm -D --undefined-only "$folder/$library" | grep -Eq " ${pair#*=}(@|$)"; then
      echo "${pair%=*} could not be replaced in $library" >&2
      exit 1
    fi
  done
}

compile loader.so -ffreestanding -nostdlib -fvisibility=hidden -fno-tree-loop-distribute-patterns \
  -Wl,--version-script="$here/versions" "$here/loader.c" "$here/ticks.c" \
  "$here/stacks.c" "$here/guest.c"
check_loader
compile libridealong-cxx.so "$here/cxx.c"

take libprofiler.so.0 libprofiler.so.0
take libunwind.so.8 libridealong-unwind.so.8
take liblzma.so.5 libridealong-lzma.so.5
patchelf --replace-needed libstdc++.so.6 libridealong-cxx.so "$folder/libprofiler.so.0"
patchelf --replace-needed libunwind.so.8 libridealong-unwind.so.8 "$folder/libprofiler.so.0"
patchelf --replace-needed liblzma.so.5 libridealong-lzma.so.5 "$folder/libridealong-unwind.so.8"

replace libprofiler.so.0 open=rl_o close=rl_cl write=rl_wr setitimer=rl_settim memset=rl_mst \
  sigaction=rl_sigact sigprocmask=rl_sigprocm \
  __fprintf_chk=rl_fprint_chk
if [ "$(uname -m)" = x86_64 ]; then
  replace libprofiler.so.0 _ULx86_64_init_local=rl_unwind_init_local _ULx86_64_step=rl_unwind_step
else
  replace libprofiler.so.0 _ULaarch64_init_local=rl_unwinds_init_local \
    _ULaarch64_step=rl_unwinds_step
fi
replace libridealong-unwind.so.8 pipe2=rl_pp read=rl_r write=rl_wr close=rl_cl
# On arm64, libunwind writes into its pipe with write(2).
if [ "$(uname -m)" = x86_64 ]; then replace libridealong-unwind.so.8 syscall=rl_sysc; fi
