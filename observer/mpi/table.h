// The table of the recorder, which is also the format of its file, and the state of the process.

#pragma once

#include "call-table.h"
#include "objects.h"

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
  // When MPI_Init had ended, or when it began, in the state STARTING: CLOCK_BOOTTIME, and
  // CLOCK_MONOTONIC, which is also the clock of now.
  uint64_t began_since_boot, began, now;
  uint64_t calls, time, bytes;
  // How long the threads waited for a processor since MPI_Init, outside of calls and in them, while
  // `are_waits_known`; see waits.h.
  uint64_t waits_outside, waits_in_calls;
  // How long they slept outside of calls meanwhile: they neither ran nor waited for a processor.
  uint64_t slept_outside;
  // The time that the calls would have taken if all of a row had been as fast as its fast ones; see
  // fast_time_of.
  uint64_t fast_time;
  uint32_t are_waits_known;
  // The calls that may have sent bytes that are not counted, because the recorder does not know
  // their request, or because their communicator or datatype was freed meanwhile.
  uint32_t uncounted;
  char library_name[TEXT], job[TEXT];
  struct communicator communicator[MAX_COMMUNICATORS];
  struct row row[MAX_ROWS];
} table;

// The last byte is the version of the format.
static const char MAGIC[] = {'R', 'L', 'M', 'P', 'I', 0, 0, 3};

// How long a thread waited for a processor in a call or between calls, and how long it slept. Both are
// 0 if that was not read.
struct wait {
  uint64_t waited, slept;
};

// The durations of the calls of each row without waiting for a processor, by class: their number and
// sum. Hindered calls are apart, with the sum of the time that may not be caused by the waiting.
static struct durations {
  uint64_t time[DURATIONS], hindered_time;
  uint32_t calls[DURATIONS], hindered;
} durations[MAX_ROWS];

// A request, with the peer and communicator of its call. If it is persistent, `bytes` are sent each
// time that it is started; if it is partitioned, each time that a partition is ready.
struct request {
  uint64_t request, age, bytes;
  int32_t peer;
  uint32_t communicator;
  // The number of the call that may complete it; 0 if none. It is forgotten, unless it is pending
  // after that call.
  uint32_t waited;
  uint8_t is_partitioned;
  // enum transfer
  uint8_t transfer;
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
static int is_recording, has_file, lock;
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
  // The id of the thread, and its place in the memory of open calls, from 1.
  uint32_t number, place;
  // When the last call ended; 0 before the first one.
  uint64_t left;
  // How long the thread had waited for a processor and how long it had run when that was last read,
  // and when that was.
  uint64_t waited, ran, waited_at;
  // The time since then outside of calls and in them, as far as nothing was read at its end.
  uint64_t unread[2];
} thread __attribute__((tls_model("initial-exec")));
