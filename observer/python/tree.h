// The tree of stacks in the shared memory, and what finds its parts quickly. A part that is in the
// memory does not change any more, except for its sums.

#pragma once

#include "lines.h"

#define CODE_SLOTS 8192
#define LINE_SLOTS 65536
#define TEXT_SLOTS 32768
#define FRAME_SLOTS 32768
#define NODE_SLOTS 65536
// The number of slots in which a key can be.
#define WAYS 16

// A code object, as it was when its name was copied. Another one can have its address later.
struct code {
  uint64_t address, file, name, lines;
  int32_t first_line;
  // Distinguishes code objects, from 1; and the offset of the text. Code objects with the same text
  // can have different instructions, such as two lambdas in a line.
  uint32_t number, text;
};

// The frame of an instruction.
struct line_slot {
  // The number of the code object, and the offset of the instruction; 0 if the slot is free.
  uint64_t key;
  uint32_t frame;
};

static struct shared *shared;
static struct code codes[CODE_SLOTS];
static struct line_slot line_slots[LINE_SLOTS];
// The offsets of texts, the positions of frames, and those of nodes; 0 if the slot is free. No root
// has a slot.
static uint32_t text_slots[TEXT_SLOTS];
static uint16_t frame_slots[FRAME_SLOTS], node_slots[NODE_SLOTS];
static uint32_t code_count, text_count;
// Whether the last stack has lost frames, because there was no room for a node.
static uint32_t is_cut;

static uint32_t mix(uint64_t value) {
  value = (value ^ value >> 32) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(value >> 40);
}

// The name of a function and the path of its file, terminated, and their sizes.
struct text {
  char name[4 * MAX_NAME + 1], file[4 * MAX_FILE + 1];
  size_t name_size, file_size;
};

// Reads the text of a code object. Returns 0 if it cannot be read.
static int read_text(const struct code *code, struct text *text) {
  text->name_size = text->file_size = 1;
  if (!copy_text(code->name, text->name, sizeof text->name, MAX_NAME)) return 0;
  if (!copy_text(code->file, text->file, sizeof text->file, MAX_FILE)) return 0;
  while (text->name[text->name_size - 1] != '\0') text->name_size++;
  while (text->file[text->file_size - 1] != '\0') text->file_size++;
  return 1;
}

static uint64_t mix_bytes(uint64_t value, const char *bytes, size_t size) {
  for (size_t at = 0; at < size; at++) value = (value ^ (unsigned char)bytes[at]) * 0x100000001b3u;
  return value;
}

// Whether the text is at this offset. The program can have changed what is there.
static int is_text_at(const struct text *text, size_t at) {
  const char *name = shared->texts + at, *file = name + text->name_size;
  return at + text->name_size + text->file_size <= MAX_TEXTS && is_equal(text->name, name) &&
         is_equal(text->file, file);
}

// Finds the text of a code object, or appends it. Code that a program compiles again has the same
// text. Returns its offset; 0, where the texts are empty, if there is no room or it cannot be read.
static uint32_t find_text(const struct code *code) {
  static struct text text;
  if (!read_text(code, &text)) return 0;
  uint64_t hash = mix_bytes(mix_bytes(0, text.name, text.name_size), text.file, text.file_size);
  uint32_t slot = mix(hash), at;
  for (; (at = text_slots[slot % TEXT_SLOTS]) != 0; slot++) {
    if (is_text_at(&text, at)) return at;
  }
  at = shared->texts_used;
  if (text_count >= MAX_FRAMES || at + text.name_size + text.file_size > MAX_TEXTS) {
    shared->lacks_names = 1;
    return 0;
  }
  memcpy(shared->texts + at, text.name, text.name_size);
  memcpy(shared->texts + at + text.name_size, text.file, text.file_size);
  text_slots[slot % TEXT_SLOTS] = at;
  text_count++;
  uint32_t end = at + (uint32_t)(text.name_size + text.file_size);
  __atomic_store_n(&shared->texts_used, end, __ATOMIC_RELEASE);
  return at;
}

// Finds a code object. `head` has its first bytes. Returns NULL if it is none.
static const struct code *find_code(uint64_t address, const unsigned char *head) {
  if (word_at(head, TYPE) != code_type) return NULL;
  struct code code = {
    .address = address,
    .file = word_at(head, layout.file),
    .name = word_at(head, layout.name),
    .lines = word_at(head, layout.lines),
    .first_line = number_at(head, layout.first_line),
  };
  struct code *found = NULL;
  for (uint32_t way = 0, slot = mix(address >> 4); way < WAYS && found == NULL; way++, slot++) {
    struct code *known = &codes[slot % CODE_SLOTS];
    if (known->address == 0 || known->address == address) found = known;
  }
  if (found == NULL) found = &codes[mix(address >> 4) % CODE_SLOTS];
  int is_known = found->address == address && found->file == code.file && found->name == code.name &&
                 found->lines == code.lines && found->first_line == code.first_line;
  if (is_known) return found;
  code.text = find_text(&code);
  code.number = ++code_count;
  *found = code;
  return found;
}

// Returns the slot of a key, which may be free.
static struct line_slot *find_slot(uint64_t key) {
  struct line_slot *free = NULL;
  for (uint32_t way = 0, slot = mix(key); way < WAYS; way++, slot++) {
    struct line_slot *known = &line_slots[slot % LINE_SLOTS];
    if (known->key == key) return known;
    if (known->key == 0 && free == NULL) free = known;
  }
  if (free == NULL) free = &line_slots[mix(key) % LINE_SLOTS];
  free->key = 0;
  return free;
}

// Finds the frame of a line of a function. The frame 0 is any for which there is no room.
static uint32_t find_line(uint32_t text, uint32_t line) {
  if (text == 0) return 0;
  uint32_t slot = mix((uint64_t)text << 32 | line), at;
  for (; (at = frame_slots[slot % FRAME_SLOTS]) != 0; slot++) {
    if (shared->frames[at].text == text && shared->frames[at].line == line) return at;
  }
  at = shared->frames_used;
  if (at >= MAX_FRAMES) {
    shared->lacks_names = 1;
    return 0;
  }
  shared->frames[at] = (struct frame){text, line};
  frame_slots[slot % FRAME_SLOTS] = (uint16_t)at;
  __atomic_store_n(&shared->frames_used, at + 1, __ATOMIC_RELEASE);
  return at;
}

// Finds the frame of an instruction of a code object.
static uint32_t find_frame(const struct code *code, int64_t offset) {
  uint64_t key = (uint64_t)code->number << 32 | (uint32_t)offset;
  struct line_slot *slot = find_slot(key);
  if (slot->key == key) return slot->frame;
  uint32_t frame = find_line(code->text, line_of(code->lines, code->first_line, offset));
  *slot = (struct line_slot){key, frame};
  return frame;
}

// Finds the node of a frame that is called from another node. If there is no room, returns that node.
static uint32_t find_node(uint32_t parent, uint32_t frame) {
  uint32_t slot = mix((uint64_t)parent << 32 | frame), at;
  for (; (at = node_slots[slot % NODE_SLOTS]) != 0; slot++) {
    if (shared->nodes[at].parent == parent && shared->nodes[at].frame == frame) return at;
  }
  at = shared->nodes_used;
  if (at >= MAX_NODES) {
    is_cut = 1;
    return parent;
  }
  shared->nodes[at].parent = parent;
  shared->nodes[at].frame = frame;
  node_slots[slot % NODE_SLOTS] = (uint16_t)at;
  __atomic_store_n(&shared->nodes_used, at + 1, __ATOMIC_RELEASE);
  return at;
}

_Static_assert(MAX_NODES <= NODE_SLOTS / 2, "searches are short, and a position fits in a slot");
_Static_assert(MAX_FRAMES <= FRAME_SLOTS / 2 && MAX_FRAMES <= TEXT_SLOTS / 2, "as above");

// Empties the tables for a new memory.
static void begin_tree(struct shared *memory) {
  memset(codes, 0, sizeof codes);
  memset(line_slots, 0, sizeof line_slots);
  memset(text_slots, 0, sizeof text_slots);
  memset(frame_slots, 0, sizeof frame_slots);
  memset(node_slots, 0, sizeof node_slots);
  code_count = text_count = 0;
  shared = memory;
  shared->texts_used = 2;
  shared->frames_used = 1;
  shared->nodes_used = ROOTS;
  shared->nodes[ROOT_OTHER].parent = ROOT_OTHER;
}
