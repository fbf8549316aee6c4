// Memory that a process shares with the observer: a file without a name (memfd_create(2)), which the
// observer opens through /proc/PID/fd. Nobody can shorten it, because it is sealed; a program that
// uses a mapping of a file beyond its end gets SIGBUS. While the observer has it open, it outlives
// the process.

#pragma once

#include "system.h"

// Files that stay open get a number from here on, which programs do not expect to get, such as the
// lowest one that is free (open(2)).
#define FIRST_NUMBER 700

// Returns new memory, or NULL if there is none.
static inline void *map_memory(size_t size, int flags, long file) {
  long address = call_with_six(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, flags, file, 0);
  return address < 0 && address > -4096 ? NULL : (void *)address;
}

// Makes a file of this size, and returns its number, or a negative number.
static inline long make_memory_file(const char *name, size_t size) {
  uint64_t limit[2];
  // Beyond RLIMIT_FSIZE, ftruncate would kill the program with SIGXFSZ (setrlimit(2)).
  if (call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)limit) < 0) return -1;
  if (limit[0] < size) return -1;
  int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  long made = call(SYS_memfd_create, (long)name, flags | MFD_NOEXEC_SEAL, 0, 0);
  // Linux before 6.3 does not know this flag.
  if (made == -EINVAL) made = call(SYS_memfd_create, (long)name, flags, 0, 0);
  if (made < 0) return made;
  long file = call(SYS_fcntl, made, F_DUPFD_CLOEXEC, FIRST_NUMBER, 0);
  call(SYS_close, made, 0, 0, 0);
  if (file < 0) return file;
  int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  int is_made = call(SYS_ftruncate, file, (long)size, 0, 0) == 0 &&
                call(SYS_fcntl, file, F_ADD_SEALS, seals, 0) == 0;
  if (is_made) return file;
  call(SYS_close, file, 0, 0, 0);
  return -1;
}

// Makes memory that the process shares with the observer, with the number of its file. Returns NULL
// if there is none.
static inline void *make_shared_memory(const char *name, size_t size, long *file) {
  *file = make_memory_file(name, size);
  if (*file < 0) return NULL;
  void *memory = map_memory(size, MAP_SHARED, *file);
  if (memory == NULL) call(SYS_close, *file, 0, 0, 0);
  return memory;
}
