// Reads the memory of this process in a way that cannot fail with a signal. The interpreter frees
// objects while they are read.

#pragma once

#include "../preload/system.h"

struct piece {
  void *bytes;
  size_t size;
};

// The id of this process, and the file /proc/self/mem, which is used if process_vm_readv(2) is not
// permitted. A process may always read its own memory (Linux kernel/ptrace.c, __ptrace_may_access),
// but a filter of system calls may not know that.
static long own_process;
static int uses_file;
static long memory_file = -1;
// Whether the main thread has ended. Then process_vm_readv(2) finds no memory of the process, although
// other threads still use it (Linux mm/process_vm_access.c, process_vm_rw_core).
static int has_main_ended;

static int read_from_file(uint64_t address, void *bytes, size_t size) {
  if (memory_file < 0) return -1;
  return call(SYS_pread64, memory_file, (long)bytes, (long)size, (long)address) == (long)size ? 0 : -1;
}

// Reads `count` pieces at once. Returns 0 if all could be read.
static int read_pieces(const struct piece *from, const struct piece *to, size_t count, size_t size) {
  if (!uses_file) {
    long got = call_with_six(SYS_process_vm_readv, own_process, (long)to, (long)count, (long)from,
                             (long)count, 0);
    if (got == -ESRCH) has_main_ended = 1;
    if (got != -ENOSYS && got != -EPERM) return got == (long)size ? 0 : -1;
    uses_file = 1;
  }
  for (size_t at = 0; at < count; at++) {
    if (read_from_file((uint64_t)(uintptr_t)from[at].bytes, to[at].bytes, to[at].size) != 0) return -1;
  }
  return 0;
}

static int read_memory(uint64_t address, void *bytes, size_t size) {
  struct piece from = {(void *)(uintptr_t)address, size}, to = {bytes, size};
  return read_pieces(&from, &to, 1, size);
}

// Returns a word of the memory; 0 if it cannot be read.
static uint64_t read_word(uint64_t address) {
  uint64_t word;
  return read_memory(address, &word, sizeof word) == 0 ? word : 0;
}

// Words at any offset of bytes that were read.
static uint64_t word_at(const unsigned char *bytes, long offset) {
  uint64_t word;
  __builtin_memcpy(&word, bytes + offset, sizeof word);
  return word;
}

static int32_t number_at(const unsigned char *bytes, long offset) {
  int32_t number;
  __builtin_memcpy(&number, bytes + offset, sizeof number);
  return number;
}
