// Where the structures of CPython have their members. From 3.13 on, the process itself has a table
// (Include/internal/pycore_debug_offsets.h, struct _Py_DebugOffsets). The numbers for earlier
// versions are those of their headers; test/tools/python/observer.test.ts samples each version that
// the machine has. Within a minor version, they do not change.

#pragma once

#include "read.h"
#include "shared.h"

extern WEAK void *dlsym(void *library, const char *name);
extern WEAK char *dlerror(void);

struct layout {
  uint32_t version;
  // Of _PyRuntimeState, PyInterpreterState and PyThreadState.
  int interpreters, next_interpreter, threads, next_thread, thread_id, frame;
  // The member `current_frame` of _PyCFrame, to which `frame` points in 3.11 and 3.12; otherwise -1.
  int current_frame;
  // The piece of memory with most of the frames of a thread, from 3.11 on; otherwise -1.
  int chunk;
  // Of a frame: _PyInterpreterFrame, or PyFrameObject before 3.11, which has no owner.
  int previous, code, instruction, owner;
  // Of PyCodeObject. `name` is the qualified name from 3.11 on.
  int file, name, lines, first_line, instructions;
  // Of the characters of a string that is ASCII, and of others.
  int ascii, compact;
};

static const struct layout layouts[] = {
    {0x0309, 32, 0, 8, 8, 176, 24, -1, -1, 24, 32, 104, -1, 104, 112, 120, 40, -1, 48, 72},
    {0x030a, 32, 0, 8, 8, 176, 24, -1, -1, 24, 32, 96, -1, 104, 112, 120, 40, -1, 48, 72},
    {0x030b, 40, 0, 16, 8, 160, 56, 8, 296, 48, 32, 56, 69, 112, 128, 136, 72, 184, 48, 72},
    {0x030c, 40, 0, 72, 8, 144, 56, 0, 232, 8, 0, 56, 70, 112, 128, 136, 68, 192, 40, 56},
};

// The positions of parts of struct _Py_DebugOffsets, in words of eight bytes, and of two members of
// its part about threads.
struct table_version {
  uint32_t version;
  int thread, frame, code, thread_id, chunk;
};

static const struct table_version table_versions[] = {
    {0x030d, 19, 28, 34, 6, 7},
    {0x030e, 22, 31, 39, 6, 7},
    {0x030f, 22, 39, 47, 9, 10},
};

// The most bytes that are read of a thread, a frame and a code object.
enum { MAX_THREAD = 512, MAX_FRAME = 128, MAX_CODE = 192, TABLE_WORDS = 64 };
// The characters and the bytes of str and bytes objects: ob_type, length, state, and ob_sval.
enum { TYPE = 8, LENGTH = 16, TEXT_STATE = 32, TEXT_HEAD = 40, BYTES_VALUE = 32 };

static struct layout layout;
// The addresses of _PyRuntime, PyCode_Type and PyUnicode_Type.
static uint64_t runtime_at, code_type, text_type;
// The version of the interpreter, which one with a table (struct _Py_DebugOffsets) says itself.
static uint32_t version_without_table;

static void *find_symbol(const char *name) {
  if (dlsym == NULL) return NULL;
  void *symbol = dlsym(NULL, name);
  // A search that fails must not change what the program gets from dlerror.
  if (symbol == NULL && dlerror != NULL) dlerror();
  return symbol;
}

// The bytes that are read of a thread, a frame and a code object: up to the last member of interest.
static size_t thread_bytes, frame_bytes, code_bytes;

// Returns the end of the last of some members; a member that is missing is at -1.
static size_t end_of(const int *members, size_t count) {
  int last = 0;
  for (size_t at = 0; at < count; at++) last = members[at] > last ? members[at] : last;
  return (size_t)last + sizeof(uint64_t);
}

#define END_OF(...) end_of((int[]){__VA_ARGS__}, sizeof((int[]){__VA_ARGS__}) / sizeof(int))

// Takes the layout. Returns SAMPLING if its members are within what is read, because the table may be
// that of a version that is not as expected.
static enum state take_layout(const struct layout *of) {
  layout = *of;
  thread_bytes = END_OF(of->next_thread, of->thread_id, of->frame, of->chunk);
  frame_bytes = END_OF(of->previous, of->code, of->instruction, of->owner);
  code_bytes = END_OF(of->file, of->name, of->lines, of->first_line);
  int is_plausible = thread_bytes <= MAX_THREAD && frame_bytes <= MAX_FRAME && code_bytes <= MAX_CODE;
  return is_plausible ? SAMPLING : UNKNOWN_VERSION;
}

static enum state read_table(const uint64_t *table) {
  const struct table_version *known = NULL;
  uint32_t version = (uint32_t)(table[1] >> 16);
  for (size_t at = 0; at < sizeof table_versions / sizeof *table_versions; at++) {
    if (table_versions[at].version == version) known = &table_versions[at];
  }
  layout.version = version;
  if (table[2] != 0) return FREE_THREADED;
  if (known == NULL) return UNKNOWN_VERSION;
  const uint64_t *thread = table + known->thread, *frame = table + known->frame;
  const uint64_t *code = table + known->code;
  struct layout found = {
    .version = version,
    .interpreters = (int)table[5],
    .next_interpreter = (int)table[8],
    .threads = (int)table[9],
    .next_thread = (int)thread[2],
    .frame = (int)thread[4],
    .thread_id = (int)thread[known->thread_id],
    .chunk = (int)thread[known->chunk],
    .current_frame = -1,
    .previous = (int)frame[1],
    .code = (int)frame[2],
    .instruction = (int)frame[3],
    .owner = (int)frame[5],
    .file = (int)code[1],
    .name = (int)code[3],
    .lines = (int)code[4],
    .first_line = (int)code[5],
    .instructions = (int)code[9],
    .ascii = 40,
    .compact = 56,
  };
  return take_layout(&found);
}

// Parses "3.11.7 (main, …)".
static uint32_t parse_version(const char *text) {
  uint32_t minor = 0;
  if (text == NULL || text[0] != '3' || text[1] != '.') return 0;
  for (text += 2; *text >= '0' && *text <= '9' && minor < 100; text++) {
    minor = minor * 10 + (uint32_t)(*text - '0');
  }
  return 0x0300 | minor;
}

// Returns the version. Py_GetVersion fills in a text. If two threads call it at the same time, one of
// them can get an empty text (Python/getversion.c), so only versions before 3.11 are asked, which have
// no Py_Version.
static uint32_t find_version(void) {
  const unsigned long *number = find_symbol("Py_Version");
  if (number != NULL) return (uint32_t)(*number >> 16);
  const char *(*get_version)(void) = find_symbol("Py_GetVersion");
  return parse_version(get_version == NULL ? NULL : get_version());
}

// Finds the layout of the interpreter in this process. Returns SAMPLING if it is known.
static enum state find_layout(void) {
  uint64_t table[TABLE_WORDS];
  if (read_memory(runtime_at, table, sizeof table) != 0) return UNREADABLE;
  static const char cookie[] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};
  if (table[0] == word_at((const unsigned char *)cookie, 0)) return read_table(table);
  layout.version = version_without_table;
  for (size_t at = 0; at < sizeof layouts / sizeof *layouts; at++) {
    if (layouts[at].version == layout.version) return take_layout(&layouts[at]);
  }
  return UNKNOWN_VERSION;
}

// Finds the symbols of the interpreter, before the program has a second thread. The thread of the
// sampler calls no function of the C library, which could wait for a lock that a fork holds. Returns
// whether the process has an interpreter.
static int find_interpreter(void) {
  runtime_at = (uint64_t)(uintptr_t)find_symbol("_PyRuntime");
  code_type = (uint64_t)(uintptr_t)find_symbol("PyCode_Type");
  text_type = (uint64_t)(uintptr_t)find_symbol("PyUnicode_Type");
  if (runtime_at == 0 || code_type == 0 || text_type == 0) return 0;
  version_without_table = find_version();
  return 1;
}
