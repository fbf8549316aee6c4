// The communicators and rows of the table.

#pragma once

#include "file.h"
#include "freed.h"
#include "library.h"
#include "shared.h"

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
    show_communicator(at);
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
  show_communicator(at);
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

// Forgets a communicator whose handle may stand for another one from now on. MPI_COMM_WORLD is never
// freed. Returns its position; COMMUNICATOR_OTHER if it was not in the table. The caller has the
// lock.
static uint32_t forget_communicator(word handle) {
  uint32_t position = find_communicator(handle);
  if (position != COMMUNICATOR_OTHER && handle != handles.world) {
    table.communicator[position].handle = 0;
  }
  forget_rejected(handle);
  return position;
}

// Returns the position of a communicator, which is valid, in the table. A communicator that is not
// in the table is added if there is room. The ordinal follows from the order in which communicators
// are added, so this function is called when a communicator is created.
static uint32_t position_of(word handle) {
  if (handle == 0 || handle == handles.null_communicator) return COMMUNICATOR_OTHER;
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
    int out, is_inter = 0, is_remote = table.communicator[position].remote_size != 0;
    // The handle stands for another communicator if the recorder has not seen who freed the known
    // one: only a function of MPI whose address the program stored before it was replaced.
    if (mpi.Comm_test_inter(handle, &is_inter) != 0 || is_inter != is_remote) return PEER_OTHER;
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

// Returns the class of a duration.
static uint32_t class_of(uint64_t duration) {
  if (duration >> FIRST_POWER == 0) return 0;
  uint32_t power = 63 - (uint32_t)__builtin_clzll(duration);
  uint32_t class = 2 * (power - FIRST_POWER) + (duration >> (power - 1) & 1);
  return class < DURATIONS ? class : DURATIONS - 1;
}

// Adds the duration of a call, without waiting for a processor.
//
// If a thread polls in a call on a processor that another process needs, the other one gets it after
// a time slice of the kernel, and the call ends after the other one has run. The time that was
// polled tells nothing about the call then, up to the time that the thread waited.
static void add_duration(struct durations *sums, uint64_t duration, struct wait wait) {
  if (wait.waited > duration / HINDERED_PART) {
    uint64_t ran = duration - wait.slept;
    sums->hindered++;
    sums->hindered_time += wait.slept + (ran > wait.waited ? ran - wait.waited : 0);
    return;
  }
  uint32_t class = class_of(duration);
  sums->calls[class]++;
  sums->time[class] += duration;
}

// Adds a call to its row. If there is no room for a new row, to that of all other peers.
static void add(uint32_t id, uint32_t position, int32_t peer, uint64_t bytes, uint64_t time,
                struct wait wait) {
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
  add_duration(&durations[row - table.row], time - wait.waited, wait);
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
