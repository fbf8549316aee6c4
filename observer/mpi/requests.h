// The requests that were not completed yet, with the peers and communicators of their calls.

#pragma once

#include "rows.h"

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
  // What the requests of the call wait for, and the number of a collective call that is shown.
  enum transfer transfer;
  uint64_t number;
  int is_collective;
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
    if (request != NULL) span->transfer |= request->transfer;
    if (request != NULL && !request->is_partitioned) span->bytes += request->bytes;
  }
}
