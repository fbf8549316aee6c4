// Redirects references to functions in the objects that the dynamic linker has loaded.
//
// A shared object calls a function of another one through a slot that the dynamic linker has filled
// with the address of the function (System V ABI, "Global Offset Table"). This library stores the
// addresses of its own functions there, and defines no symbol. A program that looks for a function
// by a weak symbol or by dlsym therefore finds it if, and only if, its own libraries have it.

#pragma once

#include "../preload/system.h"
#include "../preload/text.h"

typedef uint64_t word;

// Elf64_Phdr, Elf64_Dyn, Elf64_Sym and Elf64_Rela (elf(5)).
struct segment {
  uint32_t type, flags;
  word offset, address, physical, file_size, size, alignment;
};

struct dynamic {
  int64_t tag;
  word value;
};

struct symbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  word value, size;
};

struct relocation {
  word offset, info;
  int64_t addend;
};

// struct dl_phdr_info (dl_iterate_phdr(3)).
struct object {
  word address;
  const char *name;
  const struct segment *segments;
  uint16_t segment_count;
  // The number of objects that were ever loaded, and unloaded.
  uint64_t added, removed;
};

enum {
  SEGMENT_LOAD = 1,
  SEGMENT_DYNAMIC = 2,
  SEGMENT_RELRO = 0x6474e552,
  SEGMENT_EXECUTABLE = 1,
  TAG_PLT_SIZE = 2,
  TAG_HASH = 4,
  TAG_STRINGS = 5,
  TAG_SYMBOLS = 6,
  TAG_RELA = 7,
  TAG_RELA_SIZE = 8,
  TAG_PLT = 23,
  TAG_GNU_HASH = 0x6ffffef5,
  TAG_RELATIVE_COUNT = 0x6ffffff9,
#if defined(__x86_64__)
  RELOCATION_ABSOLUTE = 1,
  RELOCATION_GLOBAL = 6,
  RELOCATION_JUMP = 7,
#else
  RELOCATION_ABSOLUTE = 257,
  RELOCATION_GLOBAL = 1025,
  RELOCATION_JUMP = 1026,
#endif
  AT_PAGESZ = 6,
};

extern WEAK int dl_iterate_phdr(int (*visit)(struct object *, size_t, void *), void *data);
extern WEAK unsigned long getauxval(unsigned long type);

// The parts of an object that its references are read from.
struct image {
  const struct object *object;
  const struct symbol *symbols;
  const char *strings;
  const uint32_t *hash, *gnu_hash;
  const struct relocation *relocations, *plt;
  size_t relocation_count, plt_count;
  // The slots that the dynamic linker makes read-only when it has filled all of them.
  word relro, relro_end;
};

static word page_size(void) {
  static word size;
  if (size == 0) size = getauxval == NULL ? 0 : getauxval(AT_PAGESZ);
  if (size == 0) size = 4096;
  return size;
}

// Reads the dynamic section of an object. Returns 0 if it has none.
static int read_image(const struct object *object, struct image *image) {
  const struct dynamic *entry = NULL;
  size_t relative = 0;
  *image = (struct image){.object = object};
  for (uint16_t at = 0; at < object->segment_count; at++) {
    const struct segment *segment = &object->segments[at];
    word address = object->address + segment->address;
    if (segment->type == SEGMENT_DYNAMIC) entry = (const struct dynamic *)address;
    if (segment->type != SEGMENT_RELRO) continue;
    // The dynamic linkers round in the same way (glibc elf/dl-reloc.c, _dl_protect_relro).
    image->relro = address & -page_size();
    image->relro_end = (address + segment->size) & -page_size();
  }
  if (entry == NULL) return 0;
  for (; entry->tag != 0; entry++) {
    // glibc stores absolute addresses here, except in objects whose section is read-only; musl
    // leaves it as it is.
    word address = entry->value < object->address ? entry->value + object->address : entry->value;
    if (entry->tag == TAG_SYMBOLS) image->symbols = (const struct symbol *)address;
    if (entry->tag == TAG_STRINGS) image->strings = (const char *)address;
    if (entry->tag == TAG_HASH) image->hash = (const uint32_t *)address;
    if (entry->tag == TAG_GNU_HASH) image->gnu_hash = (const uint32_t *)address;
    if (entry->tag == TAG_RELA) image->relocations = (const struct relocation *)address;
    size_t count = entry->value / sizeof(struct relocation);
    if (entry->tag == TAG_RELA_SIZE) image->relocation_count = count;
    if (entry->tag == TAG_PLT) image->plt = (const struct relocation *)address;
    if (entry->tag == TAG_PLT_SIZE) image->plt_count = count;
    if (entry->tag == TAG_RELATIVE_COUNT) relative = entry->value;
  }
  if (image->relocations == NULL) image->relocation_count = 0;
  if (image->plt == NULL) image->plt_count = 0;
  // These have no symbols, and are the most.
  if (relative <= image->relocation_count) {
    image->relocations += relative;
    image->relocation_count -= relative;
  }
  return image->symbols != NULL && image->strings != NULL;
}

static int is_definition(const struct image *image, uint32_t index, const char *name) {
  const struct symbol *symbol = &image->symbols[index];
  return symbol->section != 0 && is_equal(image->strings + symbol->name, name);
}

// Whether an object defines a symbol.
static int defines(const struct image *image, const char *name) {
  const uint32_t *table = image->gnu_hash;
  if (table != NULL) {
    uint32_t hash = 5381;
    for (const char *at = name; *at != '\0'; at++) hash = hash * 33 + (unsigned char)*at;
    uint32_t buckets = table[0], first = table[1];
    const uint32_t *bucket = table + 4 + table[2] * (sizeof(word) / sizeof *table);
    const uint32_t *chain = bucket + buckets;
    uint32_t index = buckets == 0 ? 0 : bucket[hash % buckets];
    if (index < first) return 0;
    for (;; index++) {
      uint32_t other = chain[index - first];
      if ((other | 1) == (hash | 1) && is_definition(image, index, name)) return 1;
      if (other & 1) return 0;
    }
  }
  table = image->hash;
  if (table == NULL || table[0] == 0) return 0;
  uint32_t hash = 0;
  for (const char *at = name; *at != '\0'; at++) {
    hash = (hash << 4) + (unsigned char)*at;
    hash = (hash ^ (hash & 0xf0000000u) >> 24) & 0x0fffffffu;
  }
  const uint32_t *bucket = table + 2, *chain = bucket + table[0];
  for (uint32_t index = bucket[hash % table[0]]; index != 0; index = chain[index]) {
    if (is_definition(image, index, name)) return 1;
  }
  return 0;
}

// A slot of an object, and the symbol that it refers to.
struct slot {
  word *place;
  const char *name;
  // Whether the dynamic linker fills the slot at the first call. Until then, it has an address in
  // the object itself.
  int is_lazy;
};

// Calls `take` for each slot of an object that refers to a symbol.
static void for_each_slot(const struct image *image, void (*take)(struct slot *, void *),
                          void *data) {
  size_t count = image->relocation_count + image->plt_count;
  for (size_t at = 0; at < count; at++) {
    const struct relocation *relocation = at < image->relocation_count
                                              ? &image->relocations[at]
                                              : &image->plt[at - image->relocation_count];
    uint32_t type = (uint32_t)relocation->info, index = (uint32_t)(relocation->info >> 32);
    int is_address = type == RELOCATION_GLOBAL || type == RELOCATION_JUMP ||
                     (type == RELOCATION_ABSOLUTE && relocation->addend == 0);
    if (index == 0 || !is_address) continue;
    const struct symbol *symbol = &image->symbols[index];
    struct slot slot = {
        .place = (word *)(image->object->address + relocation->offset),
        .name = image->strings + symbol->name,
        .is_lazy = type == RELOCATION_JUMP && symbol->section == 0,
    };
    take(&slot, data);
  }
}

// Whether an address is in the code of an object.
static int is_in_code(const struct object *object, word address) {
  for (uint16_t at = 0; at < object->segment_count; at++) {
    const struct segment *segment = &object->segments[at];
    word offset = address - object->address - segment->address;
    int is_code = segment->type == SEGMENT_LOAD && (segment->flags & SEGMENT_EXECUTABLE);
    if (is_code && offset < segment->size) return 1;
  }
  return 0;
}

static int is_own(const struct object *object) {
  return is_in_code(object, (word)(void *)&is_own);
}

// Reads a hexadecimal number of /proc/self/maps and the character after it.
static word read_hexadecimal(const char **text) {
  word value = 0;
  for (;; (*text)++) {
    char letter = **text;
    if (letter >= '0' && letter <= '9') value = value * 16 + (word)(letter - '0');
    else if (letter >= 'a' && letter <= 'f') value = value * 16 + (word)(letter - 'a' + 10);
    else break;
  }
  (*text)++;
  return value;
}

// Whether the memory at an address cannot be written: that is so if the dynamic linker has filled
// all slots of the object, and no other thread is doing so.
static int is_read_only(word address) {
  // The beginning of a line is "55e0a000-55e0b000 r--p ".
  char block[1024], line[48];
  size_t length = 0;
  int is_writable = 1;
  long file = call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), count;
  if (file < 0) return 0;
  while ((count = call(SYS_read, file, (long)block, sizeof block, 0)) > 0) {
    for (long at = 0; at < count; at++) {
      if (block[at] != '\n') {
        if (length < sizeof line - 1) line[length++] = block[at];
        continue;
      }
      line[length] = '\0';
      length = 0;
      const char *text = line;
      word start = read_hexadecimal(&text), end = read_hexadecimal(&text);
      if (address >= start && address < end) is_writable = text[1] == 'w';
    }
  }
  call(SYS_close, file, 0, 0, 0);
  return !is_writable;
}

// Slots of an object that are read-only, and are writable until `lock_slots`.
struct opened {
  word start, size;
  enum { UNTRIED, OPEN, CLOSED } state;
};

static long protect(const struct opened *opened, int protection) {
  return call(SYS_mprotect, (long)opened->start, (long)opened->size, protection, 0);
}

// Makes the slots of an object writable. Returns 0 if it must not, because the dynamic linker is
// filling them in another thread, and will make them read-only at any time.
static int open_slots(const struct image *image, struct opened *opened, int is_startup) {
  if (opened->state != UNTRIED) return opened->state == OPEN;
  opened->start = image->relro;
  opened->size = image->relro_end - image->relro;
  int is_open = (is_startup || is_read_only(opened->start)) &&
                protect(opened, PROT_READ | PROT_WRITE) == 0;
  opened->state = is_open ? OPEN : CLOSED;
  return is_open;
}

static void lock_slots(struct opened *opened) {
  if (opened->state == OPEN) protect(opened, PROT_READ);
}
