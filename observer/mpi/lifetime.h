// The beginning and the end of the record: MPI_Init, MPI_Finalize, and the end of the process.

#pragma once

#include "record.h"

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

// Parses a number of digits. Returns RANK_UNKNOWN if the text is missing or is none.
static uint32_t parse_number(const char *text) {
  uint64_t number = 0;
  if (text == NULL || text[0] == '\0') return RANK_UNKNOWN;
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9') return RANK_UNKNOWN;
    number = number * 10 + (uint64_t)(*text - '0');
    if (number >= RANK_UNKNOWN) return RANK_UNKNOWN;
  }
  return (uint32_t)number;
}

// Reads the rank and the size of MPI_COMM_WORLD from the variables of the launcher, because the
// functions of MPI may not be called before MPI_Init has returned. The observer reads the same
// variables (its module metrics::mpi_trace::launcher).
static void copy_rank(void) {
  static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                         {"PMI_RANK", "PMI_SIZE"},
                                         {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                         {"PMIX_RANK", "PMIX_SIZE"},
                                         {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
                                         {"SLURM_PROCID", "SLURM_NTASKS"}};
  table.rank = RANK_UNKNOWN;
  table.size = 0;
  for (size_t at = 0; getenv != NULL && at < sizeof names / sizeof *names; at++) {
    uint32_t rank = parse_number(getenv(names[at][0])), size = parse_number(getenv(names[at][1]));
    if (rank == RANK_UNKNOWN) continue;
    table.rank = rank;
    table.size = size == RANK_UNKNOWN ? 0 : size;
    return;
  }
}

static void set_beginning(void) {
  table.began_since_boot = read_clock(CLOCK_BOOTTIME);
  table.began = now();
}

// Begins the file and the memory.
static void create(void) {
  memcpy(table.magic, MAGIC, sizeof MAGIC);
  table.process = (uint32_t)call(SYS_getpid, 0, 0, 0, 0);
  table.namespace = read_namespace();
  has_file = create_file() == 0;
  if (!has_file) return;
  copy_job();
  copy_rank();
  set_beginning();
  table.state = STARTING;
  create_memory();
}

// Says that a program uses sessions. The record names processes by their ranks in MPI_COMM_WORLD,
// which a program with sessions only does not have (MPI 4.0, 11.3). So none of its calls are
// recorded, unless it also calls MPI_Init.
static void begin_sessions(int error) {
  if (error != 0 || table.process != 0) return;
  create();
  if (!has_file) return;
  table.state = SESSIONS;
  save(now());
}

// Shows the call of MPI_Init, which waits for other processes. It may fail, and be called again.
static void begin_init(uint32_t id) {
  if (is_recording) return;
  if (table.process == 0) create();
  if (table.state == SESSIONS) {
    table.state = STARTING;
    set_beginning();
  }
  if (!has_file || table.state != STARTING) return;
  struct span span = {.start = now(), .peer = PEER_NONE, .position = COMMUNICATOR_NONE};
  show_call(&span, id, NO_TRANSFER);
  save(span.start);
}

// Begins to record, after MPI_Init.
static void start(void) {
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
  table.state = RUNNING;
  set_beginning();
  show_beginning(shared_memory());
  hide_call(table.began);
  frame_count = (uint32_t)is_usable;
  table.are_waits_known = 1;
  begin_waits(table.began);
  thread.left = table.began;
  if (is_usable) position_of(handles.world);
  save(table.began);
  is_recording = is_usable;
  look_for_objects(AGAIN);
}

static void end_init(int error) {
  if (is_recording || !has_file || table.state != STARTING) return;
  if (error == 0) start();
  else hide_call(now());
}

// Ends the record with a state. In a signal handler, the lock may never be released.
static void finish(enum state state) {
  if (!is_recording || call(SYS_getpid, 0, 0, 0, 0) != (long)table.process) return;
  for (int tries = 0; !try_lock(); tries++) {
    if (tries == 10000) return;
    call(SYS_sched_yield, 0, 0, 0, 0);
  }
  uint64_t time = now();
  if (thread.depth == 0) count_waits_outside(time);
  table.state = state;
  save(time);
  release_lock();
}

__attribute__((destructor)) static void end(void) {
  if (table.state == RUNNING) finish(EXITED);
}

static uint64_t begin_finalize(void) {
  uint64_t time = now();
  if (is_recording) {
    count_waits_outside(time);
    thread.depth++;
    thread.stack = ~(word)0;
    take_lock();
    save(time);
    while (frame_count > 0) mpi.Group_free(&frames[--frame_count].group);
    release_lock();
    // All processes call MPI_Finalize, which may wait for them.
    struct span span = {.start = time, .peer = PEER_NONE, .position = 0, .is_collective = 1};
    show_call(&span, CALL_Finalize, NO_TRANSFER);
  }
  return time;
}

static void end_finalize(uint64_t began) {
  if (!is_recording) return;
  uint64_t end = now();
  thread.depth = 0;
  hide_call(end);
  struct wait wait = count_waits(IN_CALL, began, end);
  thread.left = end;
  take_lock();
  add(CALL_Finalize, 0, PEER_NONE, 0, end - began, wait);
  release_lock();
  finish(FINALIZED);
  is_recording = 0;
}
