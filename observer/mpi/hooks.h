// The functions that replace others, and how they find those.

#pragma once

#include "objects.h"

#define HIDDEN __attribute__((visibility("hidden")))
#define HOOK_SLOTS 2048
#define HOOK_NAME 40

struct hook {
  char name[HOOK_NAME];
  void *function;
  // The function that it replaces, once it is known.
  void **next;
};

// All hooks; the first one is that of dlsym.
extern const struct hook hooks[] HIDDEN;
extern const size_t hook_count HIDDEN;

extern WEAK void *dlopen(const char *path, int flags);
extern WEAK void *dlsym(void *library, const char *name);
extern WEAK char *dlerror(void);

#define RTLD_LAZY 1
#define RTLD_NOLOAD 4
#define RTLD_DEFAULT ((void *)0)
#define RTLD_NEXT ((void *)-1)

// The MPI library, or NULL if it is not loaded.
static void *mpi_library;
// The positions of hooks, from 1, by the hash of their names. Empty until there is an MPI library.
static uint16_t hook_slots[HOOK_SLOTS];
// The objects that were already looked at, and how many had been loaded and unloaded then.
static uint32_t known_objects;
static uint64_t known_added, known_removed, known_again;
static int is_walking;
static uint32_t first_process;

static uint32_t hash_name(const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name != '\0'; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
  return hash;
}

static const struct hook *find_hook(const char *name) {
  // Without an MPI library, only the calls that may load one are of interest.
  if (mpi_library == NULL) return is_equal(name, hooks[0].name) ? &hooks[0] : NULL;
  for (uint32_t at = hash_name(name);; at++) {
    uint16_t position = hook_slots[at % HOOK_SLOTS];
    if (position == 0) return NULL;
    if (is_equal(hooks[position - 1].name, name)) return &hooks[position - 1];
  }
}

static void fill_hook_slots(void) {
  for (size_t at = 0; at < hook_count; at++) {
    uint32_t slot = hash_name(hooks[at].name);
    while (hook_slots[slot % HOOK_SLOTS] != 0) slot++;
    hook_slots[slot % HOOK_SLOTS] = (uint16_t)(at + 1);
  }
}

// Finds a function of the program. This is a function of a library that observes MPI, if the
// application is linked with one or preloads one, and otherwise of the MPI library, which the
// program may have loaded with RTLD_LOCAL, as Python does.
static void *find(const char *name) {
  if (dlsym == NULL) return NULL;
  void *symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == NULL && mpi_library != NULL) symbol = dlsym(mpi_library, name);
  // A search that fails must not change what the program gets from dlerror.
  if (symbol == NULL && dlerror != NULL) dlerror();
  return symbol;
}

static void *next_of(const struct hook *hook) {
  void *next = __atomic_load_n(hook->next, __ATOMIC_RELAXED);
  if (next == NULL) {
    next = find(hook->name);
    __atomic_store_n(hook->next, next, __ATOMIC_RELAXED);
  }
  return next;
}

// --- Walks over the objects ---

struct walk {
  // The next object, and the first one that is looked at.
  uint32_t number, first;
  int is_startup;
  int has_found_library;
  // The path of the MPI library, or an empty text if the program itself contains it.
  char library[4096];
  // The hooks whose functions the objects refer to.
  uint8_t is_wanted[HOOK_SLOTS];
};

struct patch {
  const struct image *image;
  struct opened opened;
  int is_startup;
};

static int count_objects(struct object *object, size_t size, void *data) {
  (void)size;
  *(struct object *)data = *object;
  return 1;
}

static void want(struct slot *slot, void *data) {
  const struct hook *hook = find_hook(slot->name);
  if (hook != NULL) ((struct walk *)data)->is_wanted[hook - hooks] = 1;
}

// dlopen and dlsym are not called here: dl_iterate_phdr has a lock of the dynamic linker.
static int survey(struct object *object, size_t size, void *data) {
  (void)size;
  struct walk *walk = data;
  struct image image;
  if (walk->number++ < walk->first || is_own(object) || !read_image(object, &image)) return 0;
  if (mpi_library == NULL && !walk->has_found_library && defines(&image, "PMPI_Init")) {
    append(walk->library, sizeof walk->library, 0, object->name == NULL ? "" : object->name);
    walk->has_found_library = 1;
  }
  for_each_slot(&image, want, walk);
  return 0;
}

static void redirect(struct slot *slot, void *data) {
  struct patch *patch = data;
  const struct hook *hook = find_hook(slot->name);
  void *next = hook == NULL ? NULL : __atomic_load_n(hook->next, __ATOMIC_RELAXED);
  if (next == NULL) return;
  word now = __atomic_load_n(slot->place, __ATOMIC_RELAXED);
  int is_unfilled = slot->is_lazy && is_in_code(patch->image->object, now);
  if (now != (word)next && !is_unfilled) return;
  word place = (word)slot->place;
  int is_protected = place >= patch->image->relro && place < patch->image->relro_end;
  if (is_protected && !open_slots(patch->image, &patch->opened, patch->is_startup)) return;
  __atomic_store_n(slot->place, (word)hook->function, __ATOMIC_RELAXED);
}

static int redirect_all(struct object *object, size_t size, void *data) {
  (void)size;
  struct walk *walk = data;
  struct image image;
  if (walk->number++ < walk->first || is_own(object) || !read_image(object, &image)) return 0;
  struct patch patch = {.image = &image, .is_startup = walk->is_startup};
  for_each_slot(&image, redirect, &patch);
  lock_slots(&patch.opened);
  return 0;
}

// Opens the MPI library if a walk has found it. It stays loaded, because its functions are called
// from now on.
static int open_library(const struct walk *walk) {
  if (mpi_library != NULL || !walk->has_found_library || dlopen == NULL) return 0;
  const char *path = walk->library[0] == '\0' ? NULL : walk->library;
  void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL && dlerror != NULL) dlerror();
  if (library == NULL) return 0;
  fill_hook_slots();
  __atomic_store_n(&mpi_library, library, __ATOMIC_RELEASE);
  return 1;
}

// Redirects the references in the objects from a number on.
static void walk_objects(uint32_t first, int is_startup) {
  static struct walk walk;
  memset(&walk, 0, sizeof walk);
  walk.first = first;
  walk.is_startup = is_startup;
  dl_iterate_phdr(survey, &walk);
  if (open_library(&walk)) {
    walk.first = walk.number = 0;
    dl_iterate_phdr(survey, &walk);
  }
  for (size_t at = 0; at < hook_count; at++) {
    if (walk.is_wanted[at]) next_of(&hooks[at]);
  }
  walk.number = 0;
  dl_iterate_phdr(redirect_all, &walk);
  known_objects = walk.number;
}

enum look { AT_STARTUP, AT_CALL, AGAIN };

// Looks for objects that were loaded since the last time. AGAIN also looks at those before: another
// thread may have been loading them. While another thread looks, this one waits, but not for ever,
// because that thread may wait for a lock of the dynamic linker that this thread has. In a forked
// child, nothing is done: there, such a lock may never be released.
static void look_for_objects(enum look look) {
  struct object first = {0};
  if (dl_iterate_phdr == NULL || dlsym == NULL) return;
  if ((uint32_t)call(SYS_getpid, 0, 0, 0, 0) != first_process) return;
  dl_iterate_phdr(count_objects, &first);
  uint64_t known = look == AGAIN ? known_again : known_added;
  if (first.added == known && first.removed == known_removed) return;
  for (int tries = 0; __atomic_exchange_n(&is_walking, 1, __ATOMIC_ACQUIRE); tries++) {
    if (tries == 1000) return;
    call(SYS_sched_yield, 0, 0, 0, 0);
  }
  int is_addition = look == AT_CALL && first.removed == known_removed;
  walk_objects(is_addition ? known_objects : 0, look == AT_STARTUP);
  if (look == AGAIN) known_again = first.added;
  known_added = first.added;
  known_removed = first.removed;
  __atomic_store_n(&is_walking, 0, __ATOMIC_RELEASE);
}

// --- dlsym ---

// Returns the function of this library that replaces the result of dlsym, or NULL if none does.
__attribute__((noinline)) static void *replacement_for(void *library, const char *name) {
  if (name == NULL) return NULL;
  look_for_objects(AT_CALL);
  const char *start = name[0] == 'P' || name[0] == 'p' ? name + 1 : name;
  int is_function = (start[0] == 'M' || start[0] == 'm') && start[1] != '\0' &&
                    start[2] != '\0' && (start[3] == '_' || start[3] == '\0');
  // A library that observes MPI itself finds the function after its own one with RTLD_NEXT.
  if (mpi_library == NULL || !is_function || library == RTLD_NEXT) return NULL;
  const struct hook *hook = find_hook(name);
  void *next = hook == NULL ? NULL : next_of(hook);
  if (next == NULL || dlsym(library, name) != next) return NULL;
  return hook->function;
}

// A program that loads a library with dlopen finds its functions with dlsym. So here is the place
// to redirect the references in the new library, before it is called; and programs that look MPI up
// themselves, as Julia does, are recorded. The last call is a jump: dlsym finds out from its return
// address which object called it (dlsym(3), RTLD_NEXT).
static void *look_up(void *library, const char *name) {
  void *replacement = replacement_for(library, name);
  if (replacement != NULL) return replacement;
  return dlsym(library, name);
}
