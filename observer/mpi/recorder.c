// Records the calls of MPI that a process makes: for each call, communicator and peer, how many,
// how long, and how many bytes.
//
// The dynamic linker loads this library into every program of the target container (LD_PRELOAD). If
// the program has an MPI library, its references to MPI_* are redirected to the functions of this
// library (hooks.h). Each calls the function of the MPI library, and adds its duration to a table.
// The table is written to a file of the results folder
// about once a second, and at the end. No message is sent. Therefore a job can run in which only
// some processes are recorded, and the file of a process that is killed still has its calls.
//
// The library must not harm any program, so it follows these rules:
//
// - It needs no other library, and all its undefined symbols are weak and have no version. The
//   dynamic linker ends a program if a library that a preloaded library needs is missing (ld.so(8);
//   glibc elf/rtld.c, do_preload; musl ldso/dynlink.c, load_deps). It resolves a missing weak
//   symbol to 0, and accepts any version of a symbol without a version. So the library also loads
//   under musl, and into programs without MPI.
// - It defines no symbol. A program may look for functions that not all MPI libraries have, or for
//   MPI itself, by weak symbols or with dlsym, and finds only what its own libraries define.
// - System calls are made directly (system.h), so that they neither change errno nor depend on a C
//   library.
// - Its memory is fixed. If there are more communicators, peers or requests than fit, the table is
//   less exact.
// - It writes with pwrite, and not through a mapping of the file: a program that writes to a
//   mapping of a file that was truncated, or on a full volume, gets SIGBUS (mmap(2)). The file is
//   opened for each write: the recorder must not write to a file of the program, which may have
//   closed all files and opened others.
// - Wrong arguments reach the function of the MPI library, which reports them. No address is read
//   before that call unless it is not NULL, and otherwise only after the call has succeeded.
//
// One library works with Open MPI and with MPICH, whose handles differ. A handle is a pointer in
// Open MPI (ompi/include/mpi.h.in, "typedef struct ompi_communicator_t *MPI_Comm") and an int in
// MPICH and in the libraries that share its ABI (MPICH src/include/mpi.h.in, "typedef int
// MPI_Comm"). All other arguments are integers and pointers. In the calling conventions of x86_64
// (System V ABI, 3.2.3) and of aarch64 on Linux (AAPCS64, 6.8.2), each of them takes one register
// or eight bytes of the stack. Therefore a wrapper can pass each argument on as a whole register.

#include "../preload/system.h"
#include "../preload/text.h"

#define WEAK __attribute__((weak))

// GCC may call these for assignments of structures, even in a freestanding program.
void *memset(void *to, int byte, size_t count) {
  for (size_t at = 0; at < count; at++) ((volatile char *)to)[at] = (char)byte;
  return to;
}

void *memcpy(void *to, const void *from, size_t count) {
  for (size_t at = 0; at < count; at++) ((volatile char *)to)[at] = ((const char *)from)[at];
  return to;
}

#include "hooks.h"

struct duration {
  int64_t seconds, nanoseconds;
};

extern WEAK int clock_gettime(int clock, struct duration *time);
extern WEAK char *getenv(const char *name);

// The sizes of the tables. The observer has the same numbers (its module
// metrics::mpi_trace::file).
#define MAX_ROWS 1024
#define MAX_COMMUNICATORS 64
#define BLOCKS 256
#define TEXT 128
#define NAME 32
// A new peer gets a row of its own only if as many rows stay free. There are fewer calls than that.
#define RESERVED_ROWS 384
#define REQUEST_SETS 512
#define PERSISTENT_SETS 1024
#define REQUEST_WAYS 8
#define REJECTED_SETS 128
#define REJECTED_WAYS 8
// The number of ranks of communicators whose ranks in MPI_COMM_WORLD are remembered.
#define MAX_MEMBERS 65536
// The members of a communicator that its identity is computed from, at most.
#define MAX_HASHED 1024
#define SAMPLE 64
// The groups that a communicator with members of another job is looked for in, at most.
#define MAX_FRAMES 16
// A process is not recorded if the folder already has as many files. With at most 432 KiB each, the
// files then use less than the 64 MiB of the volume, because the kubelet evicts a pod whose volume
// is larger than its limit.
#define MAX_FILES 128
// The distance between the two copies of the table in the file.
#define COPY ((sizeof table + 4095) / 4096 * 4096)
#define MAX_PATH 512
#define FIRST_NUMBER 700
#define SAVE_INTERVAL 1000000000u
#define DEFAULT_FOLDER "/var/opt/ridealong/mpi-trace"
#define MAX_LIBRARY_VERSION 8192 // MPICH: MPI_MAX_LIBRARY_VERSION_STRING

enum { PEER_NONE = -1, PEER_OTHER = -2 };
enum { FRAME_WORLD, FRAME_NONE = MAX_FRAMES };
enum { COMMUNICATOR_OTHER = MAX_COMMUNICATORS, COMMUNICATOR_NONE };
enum state { RUNNING, FINALIZED, EXITED, ABORTED };
enum library { UNKNOWN, OPEN_MPI, MPICH };
enum binding { BINDING_C, BINDING_FORTRAN, BINDING_F08 };


// The positions of the arguments with the data that a call sends; see calls.h.
struct data {
  uint8_t count, counts, type, types, elements, is_own;
};

enum { PEERS = 1, MEMBERS, NEIGHBORS };

struct call {
  char name[NAME];
  struct data sent, in_place;
  uint8_t has_in_place, blocks, to, at_root, keeps, operation, persistent, partitioned, large;
  uint8_t peer, root, comm, request, number, requests, starts, ready, low, high;
  uint8_t status, created, freed, waits;
};

#define SENDS(place, kind) .sent = {.count = place, .type = kind}
#define SENDS_COUNTS(place, kind) .sent = {.counts = place, .type = kind}
#define SENDS_TYPES(place, kinds) .sent = {.counts = place, .types = kinds}
#define SENDS_ELEMENTS(number, kind) .sent = {.elements = number, .type = kind}
#define IN_PLACE(place, kind) .has_in_place = 1, .in_place = {.count = place, .type = kind}
#define IN_PLACE_COUNTS(place, kind) .has_in_place = 1, .in_place = {.counts = place, .type = kind}
#define IN_PLACE_TYPES(place, kinds) \
  .has_in_place = 1, .in_place = {.counts = place, .types = kinds}
#define IN_PLACE_OWN(place, kind) \
  .has_in_place = 1, .in_place = {.counts = place, .type = kind, .is_own = 1}
#define IN_PLACE_NOTHING .has_in_place = 1
#define CALL_L(name, lower, arguments, ...) \
  CALL(name, lower, arguments, __VA_ARGS__) \
  CALL_C(name##_c, lower##_c, arguments, .large = 1, __VA_ARGS__)

enum {
#define CALL(name, lower, arguments, ...) CALL_##name,
#define CALL_C CALL
#include "calls.h"
  CALL_Finalize,
  CALLS,
};

static const struct call calls[] = {
#undef CALL
#define CALL(name, lower, arguments, ...) [CALL_##name] = {#name, __VA_ARGS__},
#include "calls.h"
    [CALL_Finalize] = {"Finalize"},
};
#undef CALL
#undef CALL_C
_Static_assert(CALLS <= RESERVED_ROWS, "each call must have a row even if there is none for peers");

struct row {
  uint32_t call, communicator;
  int32_t peer;
  uint32_t unused;
  uint64_t calls, time, longest, bytes;
  char name[NAME];
};

struct communicator {
  uint64_t handle;
  // A hash of the members, which is the same in all of them; see identify. It is odd if there are
  // members of another job.
  uint64_t members;
  uint32_t size;
  // The number of earlier communicators with the same members.
  uint32_t ordinal;
  int32_t rank;
  // The number of members of the other group; 0 if it is not an intercommunicator.
  uint32_t remote_size;
  // The number of calls that wait for all members, and their time in blocks of `width` calls. The
  // block of a call depends only on its number, and the members make these calls in the same order
  // (MPI 4.0, 6.14). Therefore the n-th block of all members is about the same calls, without a
  // common clock.
  uint64_t collectives, time, width, block[BLOCKS];
};

// The file has two copies of this table, which are written in turns. If the process is killed while
// it writes one of them, or the volume is full, the other one is still valid. Only the
// communicators and rows that are in use are written. Integers are in the byte order of the
// machine, which is little-endian on both architectures.
static struct {
  char magic[8];
  // Of all bytes after this word that are in use.
  uint64_t checksum;
  uint64_t saves;
  uint32_t process, rank, size, state;
  uint32_t communicators, rows_used;
  // The PID namespace in which the process has its id: the number of its inode, 0 if not known.
  uint32_t library, namespace;
  // When MPI_Init had ended: CLOCK_BOOTTIME, and CLOCK_MONOTONIC, which is also the clock of now.
  uint64_t began_since_boot, began, now;
  uint64_t calls, time, bytes;
  char library_name[TEXT], job[TEXT];
  struct communicator communicator[MAX_COMMUNICATORS];
  struct row row[MAX_ROWS];
} table;

// The last byte is the version of the format.
static const char MAGIC[] = {'R', 'L', 'M', 'P', 'I', 0, 0, 1};

// A request, with the peer and communicator of its call. If it is persistent, `bytes` are sent each
// time that it is started; if it is partitioned, each time that a partition is ready.
struct request {
  uint64_t request, age, bytes;
  int32_t peer;
  uint32_t communicator;
  uint32_t is_partitioned;
};

// Persistent requests have a table of their own, where others cannot displace them.
static struct request requests[REQUEST_SETS][REQUEST_WAYS];
static struct request persistent[PERSISTENT_SETS][REQUEST_WAYS];

// The positions of rows in `table.row`, from 1, by hash.
static uint16_t slots[2 * MAX_ROWS];
// For each communicator, the offset of its members in `members`, from 1; 0 if there was no room.
// A member is its rank in MPI_COMM_WORLD + 1, PEER_OTHER, or 0 if it is not known yet.
static uint32_t member_offsets[MAX_COMMUNICATORS];
// For each communicator, the number of its peers: its members, or the remote ones of an
// intercommunicator.
static uint32_t peer_counts[MAX_COMMUNICATORS];
// For each communicator, the position of its frame, or FRAME_NONE.
static uint8_t frame_of[MAX_COMMUNICATORS];
// Groups whose ranks identify members: that of MPI_COMM_WORLD, and those of the communicators that
// connected it with other jobs. Each has the identity of its communicator.
static struct {
  word group;
  uint64_t members;
} frames[MAX_FRAMES];
static uint32_t frame_count;
static int32_t members[MAX_MEMBERS];
static uint32_t members_used;
// The handles of communicators without room in the table, by hash, and where each set continues.
static uint64_t rejected[REJECTED_SETS][REJECTED_WAYS];
static uint8_t rejected_next[REJECTED_SETS];
static uint64_t request_count, last_save;
static char path[MAX_PATH];
static int is_recording, lock;
// The open file, for when its path cannot be opened, and the device and number of the file.
static long open_file = -1;
static uint64_t file_device, file_number;

// The calls of MPI in which this thread is: their number, as a function of MPI may call another
// one, and the outermost one, with an address on the stack. Memory of this model needs no function
// of the C library.
static __thread struct {
  uint32_t depth, id;
  word stack;
  uint64_t start;
} thread __attribute__((tls_model("initial-exec")));

static struct {
  int (*Comm_size)(word, int *);
  int (*Comm_rank)(word, int *);
  int (*Comm_test_inter)(word, int *);
  int (*Comm_remote_size)(word, int *);
  int (*Comm_group)(word, word *);
  int (*Comm_remote_group)(word, word *);
  int (*Group_translate_ranks)(word, int, const int *, word, int *);
  int (*Group_free)(word *);
  int (*Type_size_x)(word, int64_t *);
  int (*Topo_test)(word, int *);
  int (*Cartdim_get)(word, int *);
  int (*Cart_shift)(word, int, int, int *, int *);
  int (*Graph_neighbors_count)(word, int, int *);
  int (*Dist_graph_neighbors_count)(word, int *, int *, int *);
  // In MPICH, these are macros: the handles for Fortran are the same numbers.
  word (*Comm_f2c)(int);
  word (*Type_f2c)(int);
  word (*Request_f2c)(int);
  word (*Op_f2c)(int);
} mpi;

// The handles with a fixed value.
static struct {
  word world, null_communicator, null_type, null_request, no_operation;
} handles;

// The address that is MPI_IN_PLACE in Fortran; 0 if the library has none.
static word fortran_in_place;

static uint64_t read_clock(int clock) {
  struct duration time = {0, 0};
  // The function of the C library needs no system call (vdso(7)).
  if (clock_gettime != NULL) clock_gettime(clock, &time);
  else call(SYS_clock_gettime, clock, (long)&time, 0, 0);
  return (uint64_t)time.seconds * 1000000000u + (uint64_t)time.nanoseconds;
}

static uint64_t now(void) { return read_clock(CLOCK_MONOTONIC); }

static void pause_briefly(void) {
#if defined(__x86_64__)
  __asm__ volatile("pause");
#else
  __asm__ volatile("yield");
#endif
}

static int try_lock(void) { return !__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE); }

static void take_lock(void) {
  for (int tries = 0; !try_lock(); tries++) {
    // The thread that has the lock may wait for this processor.
    if (tries % 128 == 127) call(SYS_sched_yield, 0, 0, 0, 0);
    else pause_briefly();
  }
}

static void release_lock(void) { __atomic_store_n(&lock, 0, __ATOMIC_RELEASE); }

static int contains(const char *text, const char *part) {
  for (; *text != '\0'; text++) {
    size_t at = 0;
    while (part[at] != '\0' && text[at] == part[at]) at++;
    if (part[at] == '\0') return 1;
  }
  return 0;
}

// --- The functions of the MPI library ---

// Finds a variable of Open MPI. The program may have a copy of it, which then is the only one in
// use (System V ABI, copy relocation). The dynamic linker finds that copy first.
static word find_variable(const char *name) { return (word)find(name); }

static int find_functions(void) {
#define FIND(name) mpi.name = find("PMPI_" #name)
  FIND(Comm_size);
  FIND(Comm_rank);
  FIND(Comm_test_inter);
  FIND(Comm_remote_size);
  FIND(Comm_group);
  FIND(Comm_remote_group);
  FIND(Group_translate_ranks);
  FIND(Group_free);
  FIND(Type_size_x);
  FIND(Topo_test);
  FIND(Cartdim_get);
  FIND(Cart_shift);
  FIND(Graph_neighbors_count);
  FIND(Dist_graph_neighbors_count);
  FIND(Comm_f2c);
  FIND(Type_f2c);
  FIND(Request_f2c);
  FIND(Op_f2c);
  return mpi.Comm_size && mpi.Comm_rank && mpi.Comm_test_inter && mpi.Comm_remote_size &&
         mpi.Comm_group && mpi.Comm_remote_group && mpi.Group_translate_ranks && mpi.Group_free &&
         mpi.Type_size_x;
}

// Detects the library, and with it the handles. The values for MPICH are those of its ABI (MPICH
// src/include/mpi.h.in; www.mpich.org/abi), which MVAPICH, Intel MPI and Cray MPICH share. A
// library that is in use with the ABI of MPI 5.0 (chapter 20) has other handles.
static void detect_library(void) {
  static char name[MAX_LIBRARY_VERSION + 1];
  int (*get_version)(char *, int *) = find("PMPI_Get_library_version");
  int (*get_abi)(int *, int *) = find("PMPI_Abi_get_version");
  int length = 0, major = -1, minor = -1;
  if (get_version == NULL || get_version(name, &length) != 0) name[0] = '\0';
  for (size_t at = 0; name[at] != '\0'; at++) {
    if ((unsigned char)name[at] < ' ') name[at] = ' ';
  }
  append(table.library_name, TEXT, 0, name);
  if (get_abi != NULL && get_abi(&major, &minor) == 0 && major >= 0) return;
  handles.world = find_variable("ompi_mpi_comm_world");
  if (handles.world != 0) {
    handles.null_communicator = find_variable("ompi_mpi_comm_null");
    handles.null_type = find_variable("ompi_mpi_datatype_null");
    handles.null_request = find_variable("ompi_request_null");
    handles.no_operation = find_variable("ompi_mpi_op_no_op");
    table.library = OPEN_MPI;
  } else if (contains(name, "MPICH") || contains(name, "MVAPICH") || contains(name, "Intel(R) MPI")) {
    handles.world = 0x44000000;
    handles.null_communicator = 0x04000000;
    handles.null_type = 0x0c000000;
    handles.null_request = 0x2c000000;
    handles.no_operation = 0x5800000e;
    table.library = MPICH;
  }
}

// Finds MPI_IN_PLACE of Fortran: the address of a variable. In Open MPI, it has one of four names,
// which depends on the compiler (OMPI_IS_FORTRAN_IN_PLACE in mpif-c-constants-decl.h). In MPICH, it
// is that of mpi_f08 (src/include/mpi.h.in); calls with mpif.h are recorded as calls from C.
static void find_in_place(void) {
  static const char *const names[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                      "MPI_FORTRAN_IN_PLACE", "mpi_fortran_in_place__",
                                      "MPIR_F08_MPI_IN_PLACE"};
  for (size_t at = 0; fortran_in_place == 0 && at < sizeof names / sizeof *names; at++) {
    fortran_in_place = find_variable(names[at]);
  }
}

static word to_handle(word argument) {
  return table.library == MPICH ? (uint32_t)argument : argument;
}

// Reads the handle at a position of an array.
static word handle_at(word address, size_t position, enum binding binding, word (*from_fortran)(int)) {
  if (binding != BINDING_C && table.library == OPEN_MPI) {
    return from_fortran == NULL ? 0 : from_fortran(((const int *)address)[position]);
  }
  return table.library == MPICH ? ((const uint32_t *)address)[position]
                                : ((const word *)address)[position];
}

// --- The file ---

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

// --- The table ---

static void translate(word communicator, int is_remote, int count, const int *ranks, word frame,
                      int *out) {
  word group = 0;
  for (int at = 0; at < count; at++) out[at] = PEER_OTHER;
  int error = is_remote ? mpi.Comm_remote_group(communicator, &group)
                        : mpi.Comm_group(communicator, &group);
  if (error != 0) return;
  if (mpi.Group_translate_ranks(group, count, ranks, frame, out) != 0) {
    for (int at = 0; at < count; at++) out[at] = PEER_OTHER;
  }
  mpi.Group_free(&group);
}

// The members of a group of a communicator that its identity is computed from. Translating the
// ranks of a large communicator takes time proportional to the size of MPI_COMM_WORLD for each
// (Open MPI ompi/group/group.c, ompi_group_translate_ranks), so only some of them are used.
struct sample {
  word communicator;
  int is_remote, size, first, count, ranks[SAMPLE], out[SAMPLE];
};

// Takes the next ranks of a sample. Returns 0 if there are no more.
static int take_ranks(struct sample *sample) {
  int step = sample->size <= MAX_HASHED ? 1 : sample->size / SAMPLE;
  sample->count = 0;
  for (; sample->count < SAMPLE && sample->first < sample->size; sample->first += step) {
    sample->ranks[sample->count++] = sample->first;
  }
  return sample->count > 0;
}

static void translate_sample(struct sample *sample, word frame) {
  translate(sample->communicator, sample->is_remote, sample->count, sample->ranks, frame,
            sample->out);
}

static uint64_t hash_number(uint64_t value, uint64_t number) {
  return hash(value, &number, sizeof number);
}

// Hashes the ranks in a frame of the members of a group. Returns 0 if the frame does not have all
// of them.
static uint64_t hash_ranks(struct sample sample, word frame) {
  uint64_t value = ~(uint64_t)sample.size;
  while (take_ranks(&sample)) {
    translate_sample(&sample, frame);
    for (int at = 0; at < sample.count; at++) {
      // A process that the frame does not have is MPI_UNDEFINED, which is negative.
      if (sample.out[at] < 0) return 0;
      value = hash_number(value, (uint64_t)sample.out[at]);
    }
  }
  return value == 0 ? 1 : value;
}

// Hashes which members of a communicator are in the same part of it as the first one. The two parts
// are the members that this process knew before, and the others. The others know each other too, so
// they get the same result.
static uint64_t hash_parts(struct sample sample) {
  uint64_t value = ~(uint64_t)sample.size;
  int is_first_known = -1;
  while (take_ranks(&sample)) {
    int is_known[SAMPLE] = {0};
    for (uint32_t frame = 0; frame < __atomic_load_n(&frame_count, __ATOMIC_ACQUIRE); frame++) {
      translate_sample(&sample, frames[frame].group);
      for (int at = 0; at < sample.count; at++) is_known[at] |= sample.out[at] >= 0;
    }
    if (is_first_known < 0) is_first_known = is_known[0];
    for (int at = 0; at < sample.count; at++) {
      value = hash_number(value, is_known[at] == is_first_known);
    }
  }
  return value;
}

// Computes a hash of the members of a communicator that is the same in all of them, without a
// message. It is that of the members' ranks in the first frame that has all members: usually
// MPI_COMM_WORLD. Members of different jobs have no common MPI_COMM_WORLD. A communicator that
// connects jobs for the first time is identified by the positions of both parts in it; its group
// becomes a frame in all members, for the communicators that are made from it. The groups of an
// intercommunicator have the same weight, because each of them calls itself the local one. Returns
// the position of the frame, or FRAME_NONE.
static uint32_t identify(struct communicator *new) {
  struct sample local = {.communicator = new->handle, .size = (int)new->size};
  struct sample remote = {new->handle, .is_remote = 1, .size = (int)new->remote_size};
  for (uint32_t frame = 0; frame < __atomic_load_n(&frame_count, __ATOMIC_ACQUIRE); frame++) {
    uint64_t own = hash_ranks(local, frames[frame].group);
    uint64_t other = own == 0 || remote.size == 0 ? 0 : hash_ranks(remote, frames[frame].group);
    if (own == 0 || (remote.size != 0 && other == 0)) continue;
    new->members = hash_number(own + other, frames[frame].members) & ~(uint64_t)1;
    if (frame != FRAME_WORLD) new->members |= 1;
    return frame;
  }
  int small = local.size < remote.size ? local.size : remote.size;
  new->members = remote.size == 0 ? hash_parts(local)
                                  : hash_number((uint64_t)small, new->size + new->remote_size);
  new->members |= 1;
  return FRAME_NONE;
}

// Makes the group of a communicator that connects jobs a frame.
static uint32_t add_frame(const struct communicator *new) {
  word group = 0;
  if (new->remote_size != 0 || frame_count == MAX_FRAMES) return FRAME_NONE;
  if (mpi.Comm_group(new->handle, &group) != 0) return FRAME_NONE;
  frames[frame_count].group = group;
  frames[frame_count].members = new->members;
  __atomic_store_n(&frame_count, frame_count + 1, __ATOMIC_RELEASE);
  return frame_count - 1;
}

// Mixes the bits of a handle, because MPICH numbers its handles.
static uint32_t mix(word handle) { return (uint32_t)((handle * 0x9e3779b97f4a7c15u) >> 55); }

static uint32_t find_communicator(word handle) {
  for (uint32_t at = 0; at < table.communicators; at++) {
    if (table.communicator[at].handle == handle) return at;
  }
  return COMMUNICATOR_OTHER;
}

static int is_like(uint32_t at, const struct communicator *new, uint32_t frame) {
  const struct communicator *old = &table.communicator[at];
  return old->members == new->members && old->size == new->size && frame_of[at] == frame;
}

// Whether the communicator at a position is freed, and had the same members and as many peers as a
// new one. The new one then continues its numbers, so that a program that creates communicators in
// a loop does not fill the table. All members make these calls in the same order, so they choose
// the same one.
static int is_successor(uint32_t at, const struct communicator *new, uint32_t frame) {
  const struct communicator *old = &table.communicator[at];
  return old->handle == 0 && is_like(at, new, frame) && old->remote_size == new->remote_size;
}

static void store_communicator(const struct communicator *new, uint32_t frame) {
  struct communicator *all = table.communicator;
  uint32_t at = 0, ordinal = 0, peers = new->remote_size == 0 ? new->size : new->remote_size;
  for (; at < table.communicators && !is_successor(at, new, frame); at++) {
    // A communicator that connects jobs is the first one of its kind for the other members.
    ordinal += frame != FRAME_NONE && is_like(at, new, frame);
  }
  if (at < table.communicators) {
    all[at].handle = new->handle;
    all[at].rank = new->rank;
    // Members in another order.
    for (uint32_t rank = 0; member_offsets[at] != 0 && rank < peers; rank++) {
      members[member_offsets[at] - 1 + rank] = 0;
    }
    return;
  }
  if (at == MAX_COMMUNICATORS) return;
  all[at] = *new;
  all[at].ordinal = ordinal;
  frame_of[at] = (uint8_t)(frame == FRAME_NONE ? add_frame(new) : frame);
  peer_counts[at] = peers;
  if (peers <= MAX_MEMBERS - members_used) {
    member_offsets[at] = members_used + 1;
    members_used += peers;
  }
  // The order of communicators in the file is the order of their creation.
  table.communicators = at + 1;
}

// Finds a handle among the rejected ones; NULL if it is not there.
static uint64_t *find_rejected(word handle) {
  uint64_t *set = rejected[mix(handle) % REJECTED_SETS];
  for (uint32_t way = 0; way < REJECTED_WAYS; way++) {
    if (set[way] == handle) return &set[way];
  }
  return NULL;
}

// Remembers a communicator without room until it is freed, or until its set is full. Its members
// are not hashed again, which takes long in a large job. It gets no room that becomes free later,
// so that its ordinal depends only on the order in which communicators are created.
static void reject(word handle) {
  uint32_t set = mix(handle) % REJECTED_SETS;
  if (find_rejected(handle) == NULL) {
    rejected[set][rejected_next[set]++ % REJECTED_WAYS] = handle;
  }
}

static void forget_rejected(word handle) {
  uint64_t *place = find_rejected(handle);
  if (place != NULL) *place = 0;
}

// Whether a communicator is rejected, because it was before, or because none has room.
static int is_rejected(word handle) {
  if (find_rejected(handle) != NULL) return 1;
  // A freed communicator has the handle 0.
  int is_full = table.communicators == MAX_COMMUNICATORS && find_communicator(0) == COMMUNICATOR_OTHER;
  if (!is_full) return 0;
  reject(handle);
  return 1;
}

// Returns the position of a communicator, which is valid, in the table. A communicator that is not
// in the table is added if there is room. The ordinal follows from the order in which communicators
// are added, so this function is called when a communicator is created.
static uint32_t position_of(word handle) {
  take_lock();
  uint32_t position = find_communicator(handle);
  int is_known = position != COMMUNICATOR_OTHER || is_rejected(handle);
  release_lock();
  if (is_known) return position;
  struct communicator new = {.handle = handle, .width = 1};
  int size = 0, rank = 0, is_inter = 0, remote_size = 0;
  if (mpi.Comm_size(handle, &size) != 0 || size < 1) return COMMUNICATOR_OTHER;
  if (mpi.Comm_rank(handle, &rank) != 0) return COMMUNICATOR_OTHER;
  mpi.Comm_test_inter(handle, &is_inter);
  if (is_inter && mpi.Comm_remote_size(handle, &remote_size) != 0) return COMMUNICATOR_OTHER;
  new.size = (uint32_t)size;
  new.rank = rank;
  new.remote_size = (uint32_t)remote_size;
  uint32_t frame = identify(&new);
  take_lock();
  if (find_communicator(handle) == COMMUNICATOR_OTHER) store_communicator(&new, frame);
  position = find_communicator(handle);
  if (position == COMMUNICATOR_OTHER) reject(handle);
  release_lock();
  return position;
}

// Returns the rank in MPI_COMM_WORLD of a peer: a rank in a communicator.
static int32_t world_rank(uint32_t position, word handle, int peer) {
  // MPI_PROC_NULL, MPI_ANY_SOURCE and MPI_ROOT are negative.
  if (peer < 0) return PEER_NONE;
  if (handle == handles.world) return peer;
  if (position >= MAX_COMMUNICATORS || member_offsets[position] == 0) return PEER_OTHER;
  if ((uint32_t)peer >= peer_counts[position]) return PEER_OTHER;
  int32_t *member = &members[member_offsets[position] - 1 + (uint32_t)peer];
  if (*member == 0) {
    int out;
    int is_remote = table.communicator[position].remote_size != 0;
    translate(handle, is_remote, 1, &peer, frames[FRAME_WORLD].group, &out);
    // A process outside of MPI_COMM_WORLD is MPI_UNDEFINED, which is negative.
    *member = out < 0 ? PEER_OTHER : out + 1;
  }
  return *member < 0 ? PEER_OTHER : *member - 1;
}

static struct row *find_row(uint32_t id, uint32_t position, int32_t peer) {
  uint32_t at = id * 2654435761u ^ position * 40503u ^ (uint32_t)peer * 2246822519u;
  at ^= at >> 15;
  for (;; at++) {
    uint16_t *slot = &slots[at % (2 * MAX_ROWS)];
    if (*slot == 0) {
      int is_last = table.rows_used == MAX_ROWS;
      int is_reserved = table.rows_used >= MAX_ROWS - RESERVED_ROWS;
      int is_other = position >= COMMUNICATOR_OTHER && peer == PEER_OTHER;
      if (is_last || (is_reserved && !is_other)) return NULL;
      struct row *row = &table.row[table.rows_used++];
      *slot = (uint16_t)table.rows_used;
      *row = (struct row){.call = id, .communicator = position, .peer = peer};
      append(row->name, NAME, 0, calls[id].name);
      return row;
    }
    struct row *row = &table.row[*slot - 1];
    if (row->call == id && row->communicator == position && row->peer == peer) return row;
  }
}

// Adds a call to its row. If there is no room for a new row, to that of all other peers.
static void add(uint32_t id, uint32_t position, int32_t peer, uint64_t bytes, uint64_t time) {
  struct row *row = find_row(id, position, peer);
  if (row == NULL) row = find_row(id, COMMUNICATOR_OTHER, PEER_OTHER);
  table.calls++;
  table.time += time;
  table.bytes += bytes;
  if (row == NULL) return;
  row->calls++;
  row->time += time;
  row->bytes += bytes;
  if (row->longest < time) row->longest = time;
}

// Adds a call that waits for all members to its block. If the blocks are full, two neighbors become
// one.
static void add_to_block(struct communicator *communicator, uint64_t time) {
  if (communicator->collectives / communicator->width == BLOCKS) {
    uint64_t *block = communicator->block;
    for (int at = 0; at < BLOCKS; at++) {
      block[at] = at < BLOCKS / 2 ? block[2 * at] + block[2 * at + 1] : 0;
    }
    communicator->width *= 2;
  }
  communicator->block[communicator->collectives++ / communicator->width] += time;
  communicator->time += time;
}

// --- Requests ---

// Returns the place of a request in a set: its own one, or the one that was not used for longest.
static struct request *place_in(struct request *set, word request) {
  struct request *oldest = set;
  for (uint32_t way = 0; way < REQUEST_WAYS; way++) {
    if (set[way].request == request) return &set[way];
    if (set[way].age < oldest->age) oldest = &set[way];
  }
  return oldest;
}

// Remembers a request until a later one has the same handle, or the table has no room for both.
static void store_request(const struct call *what, struct request new) {
  if (new.request == 0 || new.request == handles.null_request) return;
  int is_persistent = what->persistent || what->partitioned;
  struct request *set = is_persistent ? persistent[mix(new.request) % PERSISTENT_SETS]
                                      : requests[mix(new.request) % REQUEST_SETS];
  new.age = ++request_count;
  new.is_partitioned = what->partitioned;
  *place_in(set, new.request) = new;
  // The handle of a persistent request that was freed.
  if (is_persistent) return;
  struct request *freed = place_in(persistent[mix(new.request) % PERSISTENT_SETS], new.request);
  if (freed->request == new.request) *freed = (struct request){0};
}

static struct request *find_request(word request) {
  struct request *found = place_in(persistent[mix(request) % PERSISTENT_SETS], request);
  if (found->request == request) return found;
  found = place_in(requests[mix(request) % REQUEST_SETS], request);
  return found->request == request ? found : NULL;
}

struct span {
  uint64_t start;
  // The peer and the communicator of the requests, if they all have the same, and the bytes that
  // they send if they are started.
  int32_t peer;
  uint32_t position;
  uint64_t bytes;
  word freed;
  enum binding binding;
  // Whether the call counts in the depth, and whether it is recorded.
  int is_counted, is_recorded;
};

// Finds the peer and the communicator of requests before the call, which may set them to
// MPI_REQUEST_NULL. The function of the MPI library reports wrong arguments.
static void find_requests(struct span *span, const struct call *what, const word *arguments) {
  int count = 1, has_found = 0;
  word all = arguments[what->requests - 1];
  if (what->number != 0) {
    word number = arguments[what->number - 1];
    if (span->binding == BINDING_C) count = (int)number;
    else count = number == 0 ? 0 : *(const int *)number;
  }
  for (int at = 0; all != 0 && at < count; at++) {
    word handle = handle_at(all, (size_t)at, span->binding, mpi.Request_f2c);
    if (handle == 0 || handle == handles.null_request) continue;
    const struct request *request = find_request(handle);
    int32_t peer = request == NULL ? PEER_NONE : request->peer;
    uint32_t position = request == NULL ? COMMUNICATOR_NONE : request->communicator;
    if (!has_found) {
      span->peer = peer;
      span->position = position;
      has_found = 1;
    }
    if (span->peer != peer) span->peer = PEER_NONE;
    if (span->position != position) span->position = COMMUNICATOR_NONE;
    if (request != NULL && !request->is_partitioned) span->bytes += request->bytes;
  }
}

// --- A call ---

// Whether the call is made by another call of MPI. A call that was left by longjmp or an exception
// does not return; leave_by_jump and leave_by_exception learn of that. After any other way, the
// stack tells: a call that another one makes is below it.
static int is_nested(const struct span *span) {
  if (thread.depth > 0 && (word)span >= thread.stack) thread.depth = 0;
  return thread.depth > 0;
}

__attribute__((noinline)) static void enter(struct span *span, uint32_t id, const word *arguments,
                                            enum binding binding) {
  const struct call *what = &calls[id];
  span->is_counted = is_recording && !(binding == BINDING_FORTRAN && table.library == MPICH);
  span->is_recorded = 0;
  // The functions of MPICH for mpif.h call those for C, which are recorded. Those of Open MPI
  // (ompi/mpi/fortran/mpif-h) and those without a buffer of MPICH for mpi_f08 call PMPI_*.
  if (!span->is_counted) return;
  span->is_recorded = !is_nested(span);
  thread.depth++;
  if (!span->is_recorded) return;
  span->binding = binding;
  span->peer = PEER_NONE;
  span->position = COMMUNICATOR_NONE;
  span->bytes = 0;
  if (what->freed != 0 && arguments[what->freed - 1] != 0) {
    span->freed = handle_at(arguments[what->freed - 1], 0, binding, mpi.Comm_f2c);
    take_lock();
    span->position = find_communicator(span->freed);
    release_lock();
  }
  if (what->requests != 0) {
    take_lock();
    find_requests(span, what, arguments);
    release_lock();
  }
  thread.stack = (word)span;
  thread.id = id;
  span->start = thread.start = now();
}

static int integer(const struct span *span, word argument) {
  return span->binding == BINDING_C ? (int)argument : *(const int *)argument;
}

static word communicator_argument(const struct span *span, word argument) {
  if (span->binding == BINDING_C) return to_handle(argument);
  return handle_at(argument, 0, span->binding, mpi.Comm_f2c);
}

// Returns the source of a message: MPI_SOURCE is the first field of MPI_Status in Open MPI
// (ompi/include/mpi.h.in, struct ompi_status_public_t), and the third in MPICH
// (src/include/mpi.h.in, MPI_Status). MPI_STATUS_IGNORE is the address 0 in Open MPI, and 1 in
// MPICH. The value for Fortran is not known.
static int source_of(const struct span *span, word status) {
  if (status <= 1 || span->binding != BINDING_C) return PEER_NONE;
  return ((const int *)status)[table.library == MPICH ? 2 : 0];
}

#include "bytes.h"

// Adds a communicator to the table when it is created.
static void add_created(const struct span *span, word place) {
  word handle = place == 0 ? 0 : handle_at(place, 0, span->binding, mpi.Comm_f2c);
  if (handle == 0 || handle == handles.null_communicator) return;
  // The handle of a communicator that was freed by a call that is not recorded.
  take_lock();
  forget_rejected(handle);
  release_lock();
  position_of(handle);
}

// Adds the bytes of the partitions that the call makes ready.
static void add_partitions(struct span *span, const struct call *what, const word *arguments) {
  word argument = arguments[what->ready - 1];
  word handle = span->binding == BINDING_C ? to_handle(argument)
                                           : handle_at(argument, 0, span->binding, mpi.Request_f2c);
  int64_t count = 1;
  if (what->number != 0) count = integer(span, arguments[what->number - 1]);
  if (what->low != 0) {
    count = (int64_t)integer(span, arguments[what->high - 1]) -
            integer(span, arguments[what->low - 1]) + 1;
  }
  take_lock();
  const struct request *request = find_request(handle);
  if (request != NULL) {
    span->peer = request->peer;
    span->position = request->communicator;
    if (count > 0) span->bytes = (uint64_t)count * request->bytes;
  }
  release_lock();
}

// Adds a call that succeeded. Returns with the lock.
static void record(struct span *span, uint32_t id, const word *arguments, uint64_t end) {
  const struct call *what = &calls[id];
  word communicator = 0;
  if (what->ready != 0) add_partitions(span, what, arguments);
  if (what->comm != 0) {
    communicator = communicator_argument(span, arguments[what->comm - 1]);
    span->position = position_of(communicator);
    uint8_t role = what->peer != 0 ? what->peer : what->root;
    int rank = role == 0 ? PEER_NONE : integer(span, arguments[role - 1]);
    if (role != 0 && rank < 0 && what->status != 0) rank = source_of(span, arguments[what->status - 1]);
    span->peer = world_rank(span->position, communicator, rank);
  }
  uint64_t bytes = sent_bytes(span, what, arguments, span->position, communicator);
  int is_sent_later = what->persistent || what->partitioned;
  if (what->starts || what->ready != 0) bytes = span->bytes;
  if (what->created != 0) add_created(span, arguments[what->created - 1]);
  take_lock();
  add(id, span->position, span->peer, is_sent_later ? 0 : bytes, end - span->start);
  if (what->request != 0 && arguments[what->request - 1] != 0) {
    store_request(what, (struct request){
      .request = handle_at(arguments[what->request - 1], 0, span->binding, mpi.Request_f2c),
      .bytes = bytes,
      .peer = span->peer,
      .communicator = span->position,
    });
  }
  if (what->waits && span->position < MAX_COMMUNICATORS) {
    struct communicator *known = &table.communicator[span->position];
    // The members of an intercommunicator wait for those of the other group.
    if (known->size > 1 && known->remote_size == 0) add_to_block(known, end - span->start);
  }
  if (what->freed != 0) {
    uint32_t freed = find_communicator(span->freed);
    if (freed < MAX_COMMUNICATORS) table.communicator[freed].handle = 0;
    else forget_rejected(span->freed);
  }
}

// Writes the table if it was not written for a second.
static void save_in_time(uint64_t time) {
  int is_due = time - last_save > SAVE_INTERVAL;
  if (is_due) save(time);
  release_lock();
  if (is_due) look_for_objects(AGAIN);
}

// Adds a call that failed. Its arguments may be invalid.
static void add_failed(uint32_t id, uint64_t start, uint64_t end) {
  take_lock();
  add(id, COMMUNICATOR_NONE, PEER_NONE, 0, end - start);
}

__attribute__((noinline)) static void leave(struct span *span, uint32_t id, const word *arguments,
                                            int error) {
  if (!span->is_counted) return;
  if (span->is_recorded) {
    uint64_t end = now();
    if (error == 0) record(span, id, arguments, end);
    else add_failed(id, span->start, end);
    save_in_time(end);
  }
  if (thread.depth > 0) thread.depth--;
}

// Adds the outermost call of this thread, which does not return.
static void leave_outermost(void) {
  uint64_t end = now();
  if (!is_recording) return;
  add_failed(thread.id, thread.start, end);
  save_in_time(end);
}

// Called before longjmp and setcontext. They usually leave all calls of MPI in which the thread is,
// such as from an error handler.
static void leave_by_jump(void) {
  if (thread.depth == 0) return;
  thread.depth = 0;
  leave_outermost();
}

enum { UNWIND_CLEANUP = 2, UNWIND_CONTINUE = 8 };

// The personality routine of the wrappers: the unwinder calls it for each wrapper that an exception
// of C++ or another language leaves (Itanium C++ ABI, "Exception Handling", 1.6).
__attribute__((used, visibility("hidden"))) int leave_by_exception(int version, int actions,
                                                                   uint64_t kind, void *exception,
                                                                   void *context) {
  (void)version, (void)kind, (void)exception, (void)context;
  if ((actions & UNWIND_CLEANUP) && thread.depth > 0 && --thread.depth == 0) leave_outermost();
  return UNWIND_CONTINUE;
}

// --- The beginning and the end ---

static void copy_job(void) {
  static const char *const names[] = {"PMIX_NAMESPACE", "FLUX_JOB_ID", "SLURM_JOB_ID", "PMI_JOBID"};
  for (size_t at = 0; getenv != NULL && at < sizeof names / sizeof *names; at++) {
    const char *value = getenv(names[at]);
    if (value == NULL || value[0] == '\0') continue;
    append(table.job, TEXT, 0, value);
    return;
  }
}

// Reads the number of the PID namespace from a link to "pid:[4026531836]".
static uint32_t read_namespace(void) {
  char link[64];
  uint64_t number = 0;
  long length = call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)link, sizeof link);
  for (long at = 0; at < length; at++) {
    if (link[at] >= '0' && link[at] <= '9') number = number * 10 + (uint64_t)(link[at] - '0');
  }
  return (uint32_t)number;
}

// Begins to record, after MPI_Init.
static void start(void) {
  if (is_recording || table.process != 0) return;
  memcpy(table.magic, MAGIC, sizeof MAGIC);
  table.process = (uint32_t)call(SYS_getpid, 0, 0, 0, 0);
  table.namespace = read_namespace();
  if (create_file() != 0) return;
  detect_library();
  find_in_place();
  copy_job();
  int rank = 0, size = 0;
  int is_usable = table.library != UNKNOWN && find_functions() &&
                  mpi.Comm_rank(handles.world, &rank) == 0 &&
                  mpi.Comm_size(handles.world, &size) == 0 &&
                  mpi.Comm_group(handles.world, &frames[FRAME_WORLD].group) == 0;
  if (!is_usable) table.library = UNKNOWN;
  table.rank = (uint32_t)rank;
  table.size = (uint32_t)size;
  table.began_since_boot = read_clock(CLOCK_BOOTTIME);
  table.began = now();
  frame_count = (uint32_t)is_usable;
  if (is_usable) position_of(handles.world);
  save(table.began);
  is_recording = is_usable;
  look_for_objects(AGAIN);
}

// Ends the record with a state. In a signal handler, the lock may never be released.
static void finish(enum state state) {
  if (!is_recording || call(SYS_getpid, 0, 0, 0, 0) != (long)table.process) return;
  for (int tries = 0; !try_lock(); tries++) {
    if (tries == 10000) return;
    call(SYS_sched_yield, 0, 0, 0, 0);
  }
  table.state = state;
  save(now());
  release_lock();
}

__attribute__((destructor)) static void end(void) {
  if (table.state == RUNNING) finish(EXITED);
}

static uint64_t begin_finalize(void) {
  uint64_t time = now();
  if (is_recording) {
    thread.depth++;
    thread.stack = ~(word)0;
    take_lock();
    save(time);
    while (frame_count > 0) mpi.Group_free(&frames[--frame_count].group);
    release_lock();
  }
  return time;
}

static void end_finalize(uint64_t began) {
  if (!is_recording) return;
  thread.depth = 0;
  take_lock();
  add(CALL_Finalize, 0, PEER_NONE, 0, now() - began);
  release_lock();
  finish(FINALIZED);
  is_recording = 0;
}

// --- The functions that replace others ---

#include "wrap.h"

NEXT(dlsym)
NEXT(MPI_Init)
NEXT(MPI_Init_thread)
NEXT(MPI_Finalize)
NEXT(MPI_Abort)

static int MPI_Init(word count, word arguments) {
  int error = ((int (*)(word, word))next_MPI_Init)(count, arguments);
  if (error == 0) start();
  return error;
}

static int MPI_Init_thread(word count, word arguments, word required, word provided) {
  int (*next)(word, word, word, word) = next_MPI_Init_thread;
  int error = next(count, arguments, required, provided);
  if (error == 0) start();
  return error;
}

static int MPI_Finalize(void) {
  uint64_t began = begin_finalize();
  int error = ((int (*)(void))next_MPI_Finalize)();
  end_finalize(began);
  return error;
}

static int MPI_Abort(word communicator, word code) {
  finish(ABORTED);
  return ((int (*)(word, word))next_MPI_Abort)(communicator, code);
}

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
JUMP(setcontext)
FORTRAN_ENDS(mpi_, _)
FORTRAN_ENDS(mpi_, _f08_)

#define CALL(name, lower, count, ...) WRAP_C(name, count)
#define CALL_C CALL
#include "calls.h"
#undef CALL
#undef CALL_C
#define CALL_C(name, lower, count, ...)
#define CALL(name, lower, count, ...)                        \
  WRAP_FORTRAN(name, mpi_##lower##_, count, BINDING_FORTRAN) \
  WRAP_FORTRAN(name, mpi_##lower##_f08_, count, BINDING_F08)
#include "calls.h"
#undef CALL
#undef CALL_C

#define HOOK(symbol) {#symbol, symbol, &next_##symbol},
#define HOOK_FORTRAN_ENDS(before, after) \
  HOOK(before##init##after)              \
  HOOK(before##init_thread##after)       \
  HOOK(before##finalize##after)          \
  HOOK(before##abort##after)
#define CALL_C(name, lower, count, ...) HOOK(MPI_##name)
#define CALL(name, lower, count, ...) \
  HOOK(MPI_##name)                    \
  HOOK(mpi_##lower##_)                \
  HOOK(mpi_##lower##_f08_)

const struct hook hooks[] = {
    {"dlsym", look_up, &next_dlsym},
    {"longjmp", leave_longjmp, &next_longjmp},
    {"_longjmp", leave__longjmp, &next__longjmp},
    {"siglongjmp", leave_siglongjmp, &next_siglongjmp},
    {"__longjmp_chk", leave___longjmp_chk, &next___longjmp_chk},
    {"setcontext", leave_setcontext, &next_setcontext},
    HOOK(MPI_Init)
    HOOK(MPI_Init_thread)
    HOOK(MPI_Finalize)
    HOOK(MPI_Abort)
    HOOK_FORTRAN_ENDS(mpi_, _)
    HOOK_FORTRAN_ENDS(mpi_, _f08_)
#include "calls.h"
};

const size_t hook_count = sizeof hooks / sizeof *hooks;
_Static_assert(sizeof hooks / sizeof *hooks <= HOOK_SLOTS / 2, "searches are short");

__attribute__((constructor)) static void begin(void) {
  first_process = (uint32_t)call(SYS_getpid, 0, 0, 0, 0);
  look_for_objects(AT_STARTUP);
}
