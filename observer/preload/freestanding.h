// The functions that GCC expects of a C library, for a library that is compiled without one.

#pragma once

#include <stddef.h>

#define WEAK __attribute__((weak))

// GCC may call these for assignments of structures, even in a freestanding program.
void *memset(void *to, int byte, size_t count) {
  for (size_t at = 0; at < count; at++) ((volatile char *)to)[at] = (char)byte;
  return to;
}

void *memcpy(void *to, const void *from, size_t count) {
  for (size_t at = 0; at < count; at++) ((volatile char *)to)[at] = ((const char *)from)[at];
  return to;
}
