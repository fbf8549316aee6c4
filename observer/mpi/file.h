// The file of the process, to which the table is written.

#pragma once

#include "../preload/memory.h"
#include "clock.h"

extern WEAK char *getenv(const char *name);

// Mixes each word into a hash. The observer computes the same (its module
// metrics::mpi_trace::file).
static uint64_t hash(uint64_t value, const void *bytes, size_t size) {
  const uint64_t *words = bytes;
  for (size_t at = 0; at < size / sizeof *words; at++) {
    value = (value ^ words[at]) * 0x9e3779b97f4a7c15u;
    value ^= value >> 32;
  }
  return value;
}

// Whether a file is that of this process. A program may have closed the open file, and opened
// another one that has its number.
static int is_own_file(long file) {
  // struct stat begins with st_dev and st_ino on both architectures.
  uint64_t facts[32];
  if (file < 0 || call(SYS_fstat, file, (long)facts, 0, 0) != 0) return 0;
  return facts[0] == file_device && facts[1] == file_number;
}

// Returns the time that the calls of a row would have taken if all had been as fast as its fast
// ones, whose durations are known by class. Calls that are not hindered are preferred. If there are
// too few of them, the fast ones include hindered ones with their mean. Returns a negative number if
// the row has too few calls.
static double fast_time_of(const struct durations *sums, double calls) {
  double left = calls / FAST_PART, fast = left, time = 0;
  if (calls < FAST_PART) return -1;
  for (int at = 0; at < DURATIONS && left > 0; at++) {
    double count = sums->calls[at], taken = count < left ? count : left;
    if (count > 0) time += (double)sums->time[at] * taken / count;
    left -= taken;
  }
  if (left > 0 && sums->hindered > 0) time += (double)sums->hindered_time * left / sums->hindered;
  return time / fast * calls;
}

static uint64_t fast_time(void) {
  double time = 0;
  for (uint32_t at = 0; at < table.rows_used; at++) {
    const struct row *row = &table.row[at];
    double fast = fast_time_of(&durations[at], (double)row->calls);
    time += fast < 0 ? (double)row->time : fast;
  }
  return (uint64_t)time;
}

// Writes the table to its file. The path is opened each time. The file that stays open is used only
// if that fails, for example after chroot(2), or if the process has too many open files.
static void save(uint64_t time) {
  last_save = time;
  // A forked child has the table of its parent.
  if (call(SYS_getpid, 0, 0, 0, 0) != (long)table.process) return;
  size_t head = offsetof(__typeof__(table), communicator) +
                table.communicators * sizeof(struct communicator);
  size_t rows = table.rows_used * sizeof(struct row);
  size_t skipped = offsetof(__typeof__(table), saves);
  table.now = time;
  table.fast_time = fast_time();
  size_t copy = table.saves++ % 2 * COPY;
  table.checksum = hash(hash(0, (char *)&table + skipped, head - skipped), table.row, rows);
  // A write beyond RLIMIT_FSIZE would kill the program with SIGXFSZ (setrlimit(2)).
  uint64_t limit[2];
  if (call(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)limit) < 0 || limit[0] < 2 * COPY) return;
  long file = call(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0);
  int is_opened = file >= 0;
  if (is_opened ? !is_own_file(file) : !is_own_file(file = open_file)) {
    if (is_opened) call(SYS_close, file, 0, 0, 0);
    return;
  }
  // If a write fails, the checksum of this copy is wrong. The next one may succeed.
  call(SYS_pwrite64, file, (long)&table, (long)head, (long)copy);
  size_t offset = copy + offsetof(__typeof__(table), row);
  call(SYS_pwrite64, file, (long)table.row, (long)rows, (long)offset);
  if (is_opened) call(SYS_close, file, 0, 0, 0);
}

// Returns the number of files of a folder, or a negative number if it cannot be listed.
static long count_files(const char *folder) {
  static char entries[4096] __attribute__((aligned(8)));
  long file = call(SYS_openat, AT_FDCWD, (long)folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (file < 0) return file;
  long count = 0, bytes;
  while ((bytes = call(SYS_getdents64, file, (long)entries, sizeof entries, 0)) > 0) {
    // The length of an entry is at offset 16 (getdents64(2)).
    for (long at = 0; at < bytes; at += *(const uint16_t *)(entries + at + 16)) count++;
  }
  call(SYS_close, file, 0, 0, 0);
  return count;
}

// Keeps the new file open, with a number that programs do not expect to get, such as the lowest one
// that is free (open(2)).
static int keep_open(long file) {
  uint64_t facts[32];
  int error = call(SYS_fstat, file, (long)facts, 0, 0) != 0;
  file_device = facts[0];
  file_number = facts[1];
  open_file = call(SYS_fcntl, file, F_DUPFD_CLOEXEC, FIRST_NUMBER, 0);
  call(SYS_close, file, 0, 0, 0);
  return -error;
}

// Creates the file of this process. If an earlier process had the same id, its file remains, and
// the name of the new file ends with a number.
static int create_file(void) {
  const char *folder = getenv == NULL ? NULL : getenv("RIDEALONG_MPI_TRACE");
  if (folder == NULL || folder[0] != '/') folder = DEFAULT_FOLDER;
  long files = count_files(folder);
  if (files < 0 || files >= MAX_FILES) return -1;
  size_t length = append(path, sizeof path, 0, folder);
  length = append(path, sizeof path, length, "/mpi_");
  length = append_number(path, sizeof path, length, table.process);
  for (uint64_t number = 0; number < MAX_FILES; number++) {
    if (number > 0) {
      size_t at = append(path, sizeof path, length, ".");
      append_number(path, sizeof path, at, number);
    }
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    long file = call(SYS_openat, AT_FDCWD, (long)path, flags, 0644);
    if (file >= 0) return keep_open(file);
    if (file != -EEXIST) return -1;
  }
  return -1;
}
