// The functions of C++'s runtime library that gperftools' profiler needs, with their names of the
// Itanium C++ ABI. If the profiler loaded the libstdc++ of the image, a library that the
// application loads later could not have another version of it (as in an environment of conda).
// Some images have no libstdc++, and a static copy of Debian's needs a newer glibc than the
// profiler does.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// operator new and delete. Without memory, the profiler cannot handle an exception either.
void *_Znwm(size_t size) {
  void *memory = malloc(size == 0 ? 1 : size);
  if (memory == NULL) abort();
  return memory;
}

// The memory is zero, because loader.c omits the profiler's memset.
void *_Znam(size_t size) {
  void *memory = calloc(1, size == 0 ? 1 : size);
  if (memory == NULL) abort();
  return memory;
}

void _ZdlPvm(void *memory, size_t size) {
  (void)size;
  free(memory);
}

void _ZdaPv(void *memory) { free(memory); }

// The initialization of a static variable of a function (Itanium C++ ABI, 3.3.3): the first byte of
// the guard is set once the variable is initialized, and the second while a thread does it.
int __cxa_guard_acquire(uint8_t *guard) {
  while (!__atomic_load_n(&guard[0], __ATOMIC_ACQUIRE)) {
    if (!__atomic_exchange_n(&guard[1], 1, __ATOMIC_ACQUIRE)) {
      if (!__atomic_load_n(&guard[0], __ATOMIC_ACQUIRE)) return 1;
      __atomic_store_n(&guard[1], 0, __ATOMIC_RELEASE);
    }
  }
  return 0;
}

void __cxa_guard_release(uint8_t *guard) {
  __atomic_store_n(&guard[0], 1, __ATOMIC_RELEASE);
  __atomic_store_n(&guard[1], 0, __ATOMIC_RELEASE);
}

// The profiler throws no exceptions.
void __gxx_personality_v0(void) { abort(); }
void _Unwind_Resume(void) { abort(); }

// A node of std::list, and the functions of libstdc++ that insert it before another and remove it
// (bits/stl_list.h, std::__detail::_List_node_base).
struct node {
  struct node *next, *previous;
};

void _ZNSt8__detail15_List_node_base7_M_hookEPS0_(struct node *node, struct node *position) {
  node->next = position;
  node->previous = position->previous;
  position->previous->next = node;
  position->previous = node;
}

void _ZNSt8__detail15_List_node_base9_M_unhookEv(struct node *node) {
  node->next->previous = node->previous;
  node->previous->next = node->next;
}
