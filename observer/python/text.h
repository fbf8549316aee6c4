// Copies the texts of functions: strings of CPython (Include/cpython/unicodeobject.h, PEP 393).

#pragma once

#include "layout.h"

// The most characters of the name of a function, and of the path of its file.
enum { MAX_NAME = 120, MAX_FILE = 200 };

// Appends a character in UTF-8. A control character, and the separator of the functions of a stack,
// become a question mark.
static size_t append_character(char *to, size_t size, size_t at, uint32_t character) {
  uint32_t c = character < ' ' || character == ';' || character == 0x7f ? '?' : character;
  int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
  if (at + (size_t)more + 2 > size) return at;
  to[at++] = (char)(first[more] | c >> 6 * more);
  while (more-- > 0) to[at++] = (char)(0x80 | (c >> 6 * more & 63));
  return at;
}

// Copies a string to `to`, of `size` bytes, which stays terminated. Of more than `most` characters,
// the last ones are copied, because the end of a path says more. Returns 0 if the string cannot be
// read, for example because it was freed.
static int copy_text(uint64_t address, char *to, size_t size, size_t most) {
  unsigned char head[TEXT_HEAD], characters[4 * MAX_FILE];
  to[0] = '\0';
  if (read_memory(address, head, sizeof head) != 0 || word_at(head, TYPE) != text_type) return 0;
  uint64_t length = word_at(head, LENGTH), skipped = 0;
  // The bits of the state: 2 of interned, 3 of kind, compact, ascii.
  uint32_t state = (uint32_t)number_at(head, TEXT_STATE), kind = state >> 2 & 7;
  if ((kind != 1 && kind != 2 && kind != 4) || !(state >> 5 & 1)) return 0;
  if (length > most) skipped = length - most, length = most;
  uint64_t start = address + (uint64_t)(state >> 6 & 1 ? layout.ascii : layout.compact);
  if (read_memory(start + skipped * kind, characters, length * kind) != 0) return 0;
  size_t end = 0;
  for (size_t at = 0; at < length; at++) {
    uint32_t character = characters[at];
    if (kind == 2) character = (uint32_t)(characters[2 * at] | characters[2 * at + 1] << 8);
    if (kind == 4) character = (uint32_t)number_at(characters, 4 * (long)at);
    end = append_character(to, size, end, character & 0x1fffff);
  }
  to[end] = '\0';
  return 1;
}
