// Reads the stack of a thread of the interpreter.

#pragma once

#include "tree.h"

// The most frames of a stack: the innermost ones.
#define MAX_DEPTH 128
// The most bytes of the chunk of frames that are read at once.
#define MAX_CHUNK 65536
// The number of times that a stack is read, until its innermost frame has not changed.
#define MAX_READINGS 3
// Frames with an owner from this number on have no code of Python
// (Include/internal/pycore_interpframe_structs.h, enum _frameowner).
#define FIRST_FOREIGN_OWNER 3

// A stack, as it was read.
static struct {
  size_t depth;
  uint64_t code[MAX_DEPTH];
  int64_t offset[MAX_DEPTH];
  unsigned char head[MAX_DEPTH][MAX_CODE];
} stack;

// A piece of the memory of the process: the chunk of frames.
static struct {
  uint64_t start, size;
  unsigned char bytes[MAX_CHUNK];
} chunk;

// struct _PyStackChunk: previous, size, top. Its size may be that of any memory, since it is read
// while it changes.
static void read_chunk(uint64_t address) {
  uint64_t head[3];
  chunk.size = 0;
  if (address == 0 || read_memory(address, head, sizeof head) != 0) return;
  uint64_t size = head[1] < MAX_CHUNK ? head[1] : MAX_CHUNK;
  if (read_memory(address, chunk.bytes, size) != 0) return;
  chunk.start = address;
  chunk.size = size;
}

// Returns the bytes of a frame, or NULL if it cannot be read.
static const unsigned char *read_frame(uint64_t address, unsigned char *bytes) {
  uint64_t offset = address - chunk.start;
  if (address >= chunk.start && offset < chunk.size && chunk.size - offset >= frame_bytes) {
    return chunk.bytes + offset;
  }
  return read_memory(address, bytes, frame_bytes) == 0 ? bytes : NULL;
}

// The offset of the current instruction in its code, in bytes. In 3.9, `f_lasti` is in bytes; in
// 3.10, it is in instructions (Objects/frameobject.c, PyFrame_GetLineNumber).
static int64_t offset_of(const unsigned char *frame, uint64_t code) {
  if (layout.owner < 0) {
    int64_t last = number_at(frame, layout.instruction);
    return layout.version == 0x0309 ? last : 2 * last;
  }
  return (int64_t)(word_at(frame, layout.instruction) - code - (uint64_t)layout.instructions);
}

static uint64_t innermost_frame(uint64_t thread) {
  uint64_t frame = read_word(thread + (uint64_t)layout.frame);
  if (layout.current_frame < 0 || frame == 0) return frame;
  return read_word(frame + (uint64_t)layout.current_frame);
}

// Reads the frames. Returns 0 if all could be read.
static int read_frames(uint64_t frame) {
  unsigned char bytes[MAX_FRAME];
  for (stack.depth = 0; frame != 0 && stack.depth < MAX_DEPTH;) {
    const unsigned char *read = read_frame(frame, bytes);
    if (read == NULL) return -1;
    if (layout.owner < 0 || read[layout.owner] < FIRST_FOREIGN_OWNER) {
      // The lowest bits say how the frame refers to the object (pycore_stackref.h).
      uint64_t code = word_at(read, layout.code) & ~(uint64_t)7;
      stack.code[stack.depth] = code;
      stack.offset[stack.depth++] = offset_of(read, code);
    }
    frame = word_at(read, layout.previous);
  }
  return 0;
}

// Reads the beginnings of all code objects with one system call.
static int read_codes(void) {
  struct piece from[MAX_DEPTH], to[MAX_DEPTH];
  for (size_t at = 0; at < stack.depth; at++) {
    from[at] = (struct piece){(void *)(uintptr_t)stack.code[at], code_bytes};
    to[at] = (struct piece){stack.head[at], code_bytes};
  }
  return read_pieces(from, to, stack.depth, stack.depth * code_bytes);
}

// Reads the stack of a thread. If another frame is the innermost one afterwards, the frames may be
// of two moments, and they are read again. Returns 0 if the stack was read.
static int read_stack(uint64_t thread, const unsigned char *state) {
  for (int reading = 1;; reading++) {
    uint64_t innermost = innermost_frame(thread);
    if (layout.chunk >= 0) read_chunk(word_at(state, layout.chunk));
    int error = read_frames(innermost);
    if (error == 0 && stack.depth > 0) error = read_codes();
    int is_same = innermost_frame(thread) == innermost;
    if (error == 0 && is_same) return 0;
    if (reading == MAX_READINGS) return error;
  }
}

// Finds the node of the stack, below the root of the thread. Returns 0 unless an object is not a code
// object any more.
static int find_leaf(uint32_t root, uint32_t *leaf) {
  uint32_t node = root;
  is_cut = 0;
  for (size_t at = stack.depth; at-- > 0;) {
    const struct code *code = find_code(stack.code[at], stack.head[at]);
    if (code == NULL) return -1;
    node = find_node(node, find_frame(code, stack.offset[at]));
  }
  *leaf = node;
  return 0;
}
