// Texts, and texts in buffers of a fixed size, for libraries that the dynamic linker preloads.

#pragma once

#include <stddef.h>
#include <stdint.h>

static inline int is_equal(const char *one, const char *other) {
  while (*one != '\0' && *one == *other) one++, other++;
  return *one == *other;
}

// Appends a text to a buffer of `size` bytes, which stays terminated. Returns the new length.
static inline size_t append(char *buffer, size_t size, size_t at, const char *text) {
  while (*text != '\0' && at + 1 < size) buffer[at++] = *text++;
  buffer[at] = '\0';
  return at;
}

static inline size_t append_number(char *buffer, size_t size, size_t at, uint64_t number) {
  char digits[24];
  size_t first = sizeof digits - 1;
  digits[first] = '\0';
  do digits[--first] = (char)('0' + number % 10);
  while ((number /= 10) > 0);
  return append(buffer, size, at, digits + first);
}
