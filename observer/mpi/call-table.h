// The table of the calls of MPI: what calls.h says of each of them.

#pragma once

#include "limits.h"

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
  uint8_t status, created, freed, waits, partly;
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
  CALL_Init,
  CALL_Init_thread,
  CALLS,
};

static const struct call calls[] = {
#undef CALL
#define CALL(name, lower, arguments, ...) [CALL_##name] = {#name, __VA_ARGS__},
#include "calls.h"
    [CALL_Finalize] = {"Finalize"},
    [CALL_Init] = {"Init"},
    [CALL_Init_thread] = {"Init_thread"},
};
#undef CALL
#undef CALL_C
_Static_assert(CALLS <= RESERVED_ROWS, "each call must have a row even if there is none for peers");
