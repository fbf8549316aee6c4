// The sizes of the tables and of the file, and the numbers in them.

#pragma once

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
// The freed handles that are remembered for calls that are not over.
#define MAX_FREED 64
// A process is not recorded if the folder already has as many files. With at most 432 KiB each, the
// files then use less than the 64 MiB of the volume, because the kubelet evicts a pod whose volume
// is larger than its limit.
#define MAX_FILES 128
// The threads of a process whose open calls are visible at the same time.
#define MAX_THREADS 63
// A thread that was not in a call for as long loses its place to a thread that has none.
#define IDLE_TIME 1000000000u
// The distance between the two copies of the table in the file.
#define COPY ((sizeof table + 4095) / 4096 * 4096)
#define MAX_PATH 512
#define SAVE_INTERVAL 1000000000u
#define DEFAULT_FOLDER "/var/opt/ridealong/mpi-trace"
// How long a thread waited for a processor is read at the end of a call, and of the time between
// two calls, if that took so long, or if it was not read for so long. A read takes about 2 us.
#define LONG_TIME 500000u
#define READ_INTERVAL 10000000u
// The classes of the durations of calls: two for each power of two, from 2^10 ns.
#define DURATIONS 56
#define FIRST_POWER 10
// The part of the calls of a row that are the fast ones: one in so many.
#define FAST_PART 16
// A call in which the thread waited for a processor for more than this part of the rest is hindered.
#define HINDERED_PART 8
#define MAX_LIBRARY_VERSION 8192 // MPICH: MPI_MAX_LIBRARY_VERSION_STRING

enum { PEER_NONE = -1, PEER_OTHER = -2 };
// The rank of a process whose launcher does not name it, until MPI_Init has returned.
#define RANK_UNKNOWN 0xffffffffu
enum { FRAME_WORLD, FRAME_NONE = MAX_FRAMES };
enum { COMMUNICATOR_OTHER = MAX_COMMUNICATORS, COMMUNICATOR_NONE };
// STARTING: in MPI_Init. SESSIONS: after MPI_Session_init, and not in MPI_Init yet.
enum state { RUNNING, FINALIZED, EXITED, ABORTED, STARTING, SESSIONS };
// What a thread waits for in point-to-point communication; both bits if for both.
enum transfer { NO_TRANSFER, SEND = 1, RECEIVE = 2 };
enum library { UNKNOWN, OPEN_MPI, MPICH };
enum binding { BINDING_C, BINDING_FORTRAN, BINDING_F08 };
