// The program into which a library is preloaded.

#pragma once

#include "system.h"

// Whether the program is CPython itself, and not one that only contains it.
static inline int is_python(void) {
  static char path[4096];
  long length = call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)path, sizeof path);
  long start = length;
  while (start > 0 && path[start - 1] != '/') start--;
  static const char name[] = "python";
  for (long at = 0; at < (long)sizeof name - 1; at++) {
    if (start + at >= length || path[start + at] != name[at]) return 0;
  }
  return 1;
}
