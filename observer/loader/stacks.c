#include "stacks.h"

#define LINK "stacks"
#define PREFIX "stacks_"
#define DIGITS 16

enum {
  // The number of the instruction pointer, UNW_REG_IP (libunwind-x86_64.h, libunwind-aarch64.h).
#if defined(__aarch64__)
  REGISTER_IP = 30,
#else
  REGISTER_IP = 16,
#endif
  // More than the words of libunwind's unw_cursor_t, which are 127 on x86_64 and 250 on aarch64.
  CURSOR_WORDS = 512,
};

// The request that this thread has answered last.
static __thread uint64_t answered __attribute__((tls_model("initial-exec")));

// Appends the path of the folder of the results and a name to `path`, of MAX_PATH bytes.
static void path_in_results(char *path, const char *name) {
  size_t at = 0;
  while (at < profile.folder_length) path[at] = profile.path[at], at++;
  append(path, MAX_PATH, at, name);
}

// Parses the text of the link. Returns 0 if it is anything else than the name of a file of answers,
// because any process of the target can put anything there.
static uint64_t parse_request(const char *text, size_t length) {
  size_t prefix = sizeof PREFIX - 1;
  uint64_t number = 0;
  if (length != prefix + DIGITS) return 0;
  for (size_t i = 0; i < prefix; i++) {
    if (text[i] != PREFIX[i]) return 0;
  }
  for (size_t i = prefix; i < length; i++) {
    char digit = text[i];
    int is_number = digit >= '0' && digit <= '9';
    if (!is_number && (digit < 'a' || digit > 'f')) return 0;
    number = number << 4 | (uint64_t)(is_number ? digit - '0' : digit - 'a' + 10);
  }
  return number;
}

uint64_t find_stack_request(void) {
  char path[MAX_PATH], text[sizeof PREFIX + DIGITS];
  if (!is_own_process()) return 0;
  path_in_results(path, LINK);
  long length = call(SYS_readlinkat, AT_FDCWD, (long)path, (long)text, sizeof text);
  if (length <= 0) return 0;
  uint64_t request = parse_request(text, (size_t)length);
  return request == answered ? 0 : request;
}

static void walk(struct stack_record *record, const struct unwinder *unwinder, void *context) {
  uint64_t cursor[CURSOR_WORDS];
  if (unwinder->init_local2(cursor, context, UNW_INIT_SIGNAL_FRAME) < 0) return;
  for (;;) {
    uint64_t address = 0;
    if (unwinder->get_register(cursor, REGISTER_IP, &address) < 0 || address == 0) return;
    if (record->count == MAX_FRAMES) {
      record->flags = IS_CUT;
      return;
    }
    record->addresses[record->count++] = address;
    if (unwinder->step(cursor) <= 0) return;
  }
}

void answer_stack_request(uint64_t request, const struct unwinder *unwinder, void *context,
                          uint64_t timer) {
  char path[MAX_PATH], name[sizeof PREFIX + DIGITS];
  struct stack_record record;
  size_t at = append(name, sizeof name, 0, PREFIX);
  for (int shift = 60; shift >= 0; shift -= 4) name[at++] = "0123456789abcdef"[request >> shift & 15];
  name[at] = '\0';
  path_in_results(path, name);
  // The observer has made the file. Two threads append one after the other (O_APPEND).
  long file = open_file(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  answered = request;
  if (file < 0) return;
  record.magic = STACK_MAGIC;
  record.process = (uint32_t)profile.process;
  record.thread = (uint32_t)call(SYS_gettid, 0, 0, 0, 0);
  record.timer = timer;
  record.kind = STACK_OF_ADDRESSES;
  record.flags = 0;
  record.count = 0;
  walk(&record, unwinder, context);
  size_t header = offsetof(struct stack_record, addresses);
  write_all(file, (const char *)&record, header + record.count * sizeof *record.addresses);
  close_file(file);
}
