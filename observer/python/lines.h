// The line of an instruction, from the table of its code object.

#pragma once

#include "text.h"

// A longer table is not read; all instructions then have the first line of the function.
#define MAX_TABLE (1 << 18)

static unsigned char line_table[MAX_TABLE];

// A number in groups of six bits (Objects/locations.md).
static int32_t read_varint(size_t size, size_t *at) {
  uint32_t value = 0, shift = 0, byte;
  do {
    if (*at >= size || shift > 30) return 0;
    byte = line_table[(*at)++];
    value |= (byte & 63) << shift;
    shift += 6;
  } while (byte & 64);
  return (int32_t)value;
}

static int32_t read_signed_varint(size_t size, size_t *at) {
  int32_t value = read_varint(size, at);
  return value & 1 ? -(value >> 1) : value >> 1;
}

// CPython 3.11 and later (Objects/locations.md).
static int32_t line_in_locations(int32_t line, size_t size, int64_t offset) {
  int64_t end = 0;
  for (size_t at = 0; at < size;) {
    uint32_t byte = line_table[at++], kind = byte >> 3 & 15;
    end += 2 * ((byte & 7) + 1);
    if (kind == 13 || kind == 14) line += read_signed_varint(size, &at);
    if (kind == 14) {
      for (int part = 0; part < 3; part++) read_varint(size, &at);
    } else if (kind >= 10 && kind <= 12) {
      line += (int32_t)kind - 10;
      at += 2;
    } else if (kind < 10) {
      at++;
    }
    if (end > offset) return line;
  }
  return line;
}

// CPython 3.10 (Objects/lnotab_notes.txt): pairs of the bytes of a range, and the change of the
// line, -128 if the range has none.
static int32_t line_in_ranges(int32_t line, size_t size, int64_t offset) {
  int64_t end = 0;
  for (size_t at = 0; at + 1 < size; at += 2) {
    signed char change = (signed char)line_table[at + 1];
    end += line_table[at];
    if (change != -128) line += change;
    if (end > offset) return line;
  }
  return line;
}

// CPython 3.9 (Objects/lnotab_notes.txt): pairs of changes of the instruction and the line.
static int32_t line_in_changes(int32_t line, size_t size, int64_t offset) {
  int64_t start = 0;
  for (size_t at = 0; at + 1 < size; at += 2) {
    start += line_table[at];
    if (start > offset) break;
    line += (signed char)line_table[at + 1];
  }
  return line;
}

// Returns the line of the instruction at an offset in bytes. `table` is the address of the bytes
// object of the lines.
static uint32_t line_of(uint64_t table, int32_t first_line, int64_t offset) {
  uint64_t size = table == 0 ? 0 : read_word(table + LENGTH);
  if (offset < 0 || size == 0 || size > MAX_TABLE) return (uint32_t)first_line;
  if (read_memory(table + BYTES_VALUE, line_table, size) != 0) return (uint32_t)first_line;
  int32_t line = layout.version >= 0x030b   ? line_in_locations(first_line, size, offset)
                 : layout.version == 0x030a ? line_in_ranges(first_line, size, offset)
                                            : line_in_changes(first_line, size, offset);
  return line < 0 ? 0 : (uint32_t)line;
}
