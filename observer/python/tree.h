// The tree of stacks in the shared memory, and what finds its parts quickly. A part that is in the
// memory does not change any more, except for its sums.

#pragma once

#include "lines.h"

#define CODE_SLOTS 8192
#define LINE_SLOTS 65536
#define NODE_SLOTS 65536
// The number of slots in which a key can be.
#define WAYS 16

// A code object, as it was when its name was copied. Another one can have its address later.
struct code {
  uint64_t address, file, name, lines;
  int32_t first_line;
  // Distinguishes code objects, from 1; and the offset of the texts.
  uint32_t number, text;
};

// In the key of a slot: the rest is a line, and not the offset of an instruction.
#define IS_LINE 0x80000000u

struct line_slot {
  // The number of the code object, and the instruction or the line; 0 if the slot is free.
  uint64_t key;
  uint32_t frame;
};

static struct shared *shared;
static struct code codes[CODE_SLOTS];
static struct line_slot line_slots[LINE_SLOTS];
// The positions of nodes, 0 if the slot is free; no root has a slot.
static uint16_t node_slots[NODE_SLOTS];
static uint32_t code_count;
// Whether the last stack has lost frames, because there was no room for a node.
static uint32_t is_cut;

static uint32_t mix(uint64_t value) {
  value = (value ^ value >> 32) * 0x9e3779b97f4a7c15u;
  return (uint32_t)(value >> 40);
}

// Appends the name of a code object and its file to the texts. Returns their offset; 0, where the
// texts are empty, if there is no room or they cannot be read.
static uint32_t add_text(const struct code *code) {
  static char name[4 * MAX_NAME + 1], file[4 * MAX_FILE + 1];
  int is_read = copy_text(code->name, name, sizeof name, MAX_NAME) &&
                copy_text(code->file, file, sizeof file, MAX_FILE);
  size_t at = shared->texts_used, name_size = 1, file_size = 1;
  while (name[name_size - 1] != '\0') name_size++;
  while (file[file_size - 1] != '\0') file_size++;
  if (!is_read || at + name_size + file_size > MAX_TEXTS) return 0;
  memcpy(shared->texts + at, name, name_size);
  memcpy(shared->texts + at + name_size, file, file_size);
  __atomic_store_n(&shared->texts_used, (uint32_t)(at + name_size + file_size), __ATOMIC_RELEASE);
  return (uint32_t)at;
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
  code.text = add_text(&code);
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

static uint32_t add_frame(const struct code *code, uint32_t line) {
  uint32_t at = shared->frames_used;
  if (code->text == 0 || at >= MAX_FRAMES) return 0;
  shared->frames[at] = (struct frame){code->text, line};
  __atomic_store_n(&shared->frames_used, at + 1, __ATOMIC_RELEASE);
  return at;
}

// Finds the frame of a line of a code object. The frame 0 is any for which there is no room.
static uint32_t find_line(const struct code *code, uint32_t line) {
  uint64_t key = (uint64_t)code->number << 32 | IS_LINE | line;
  struct line_slot *slot = find_slot(key);
  if (slot->key != key) *slot = (struct line_slot){key, add_frame(code, line)};
  return slot->frame;
}

// Finds the frame of an instruction of a code object.
static uint32_t find_frame(const struct code *code, int64_t offset) {
  uint64_t key = (uint64_t)code->number << 32 | ((uint32_t)offset & ~IS_LINE);
  struct line_slot *slot = find_slot(key);
  if (slot->key == key) return slot->frame;
  uint32_t frame = find_line(code, line_of(code->lines, code->first_line, offset));
  *find_slot(key) = (struct line_slot){key, frame};
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

// Empties the tables for a new memory.
static void begin_tree(struct shared *memory) {
  memset(codes, 0, sizeof codes);
  memset(line_slots, 0, sizeof line_slots);
  memset(node_slots, 0, sizeof node_slots);
  code_count = 0;
  shared = memory;
  shared->texts_used = 2;
  shared->frames_used = 1;
  shared->nodes_used = ROOTS;
  shared->nodes[ROOT_OTHER].parent = ROOT_OTHER;
}
