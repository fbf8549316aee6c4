// Puts the folder of the recorder of PyTorch's collectives in front of PYTHONPATH.
//
// The dynamic linker loads this library into every program of the target container (LD_PRELOAD). In
// a program whose name begins with `python`, it changes the variable before the interpreter reads
// it. If the pod set the variable, it would replace one that the image sets, which nobody but the
// process sees. The sitecustomize.py of the folder gives the variable its value back. Processes
// that the program starts are preloaded too. In all other programs, and if an option of Python
// ignores the variable or sitecustomize, the library does nothing.
//
// It follows the rules of the other preloaded libraries; see ../python/sampler.c.

#include "../preload/freestanding.h"
#include "../preload/program.h"
#include "../preload/text.h"

#define VARIABLE "PYTHONPATH"
#define MAX_VALUE 16384

extern WEAK char *getenv(const char *name);
extern WEAK int setenv(const char *name, const char *value, int replaces);

// Returns the length of the arguments of the program, each of which ends with a zero.
static long read_arguments(char *buffer, long size) {
  long file = call(SYS_openat, AT_FDCWD, (long)"/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return 0;
  long count = call(SYS_read, file, (long)buffer, size - 1, 0);
  call(SYS_close, file, 0, 0, 0);
  if (count < 0) count = 0;
  buffer[count] = '\0';
  return count;
}

enum option { NO_OPTION, ISOLATING, LAST, WITH_ARGUMENT };

// Returns what an argument means for the next ones (CPython, Python/getopt.c).
static enum option classify(const char *argument) {
  if (argument[0] != '-' || argument[1] == '\0') return LAST;
  if (argument[1] == '-') {
    return is_equal(argument, "--check-hash-based-pycs") ? WITH_ARGUMENT : NO_OPTION;
  }
  for (const char *letter = argument + 1; *letter != '\0'; letter++) {
    if (*letter == 'I' || *letter == 'E' || *letter == 'S') return ISOLATING;
    if (*letter == 'c' || *letter == 'm') return LAST;
    if (*letter == 'W' || *letter == 'X') return letter[1] == '\0' ? WITH_ARGUMENT : NO_OPTION;
  }
  return NO_OPTION;
}

// Whether an option excludes PYTHONPATH (-E, -I) or sitecustomize (-S).
static int is_isolated(void) {
  static char arguments[4096];
  long count = read_arguments(arguments, sizeof arguments);
  int skips = 1;
  for (long at = 0; at < count; at++) {
    enum option option = skips ? NO_OPTION : classify(arguments + at);
    if (option == ISOLATING) return 1;
    if (option == LAST) return 0;
    skips = option == WITH_ARGUMENT;
    while (arguments[at] != '\0') at++;
  }
  return 0;
}

static size_t length_of(const char *text) {
  size_t length = 0;
  while (text[length] != '\0') length++;
  return length;
}

// Whether a value begins with the folder: the parent has started the process with its own value.
static int has_folder(const char *value, const char *folder) {
  while (*folder != '\0' && *value == *folder) value++, folder++;
  return *folder == '\0' && (*value == '\0' || *value == ':' || *value == '/');
}

__attribute__((constructor)) static void begin(void) {
  static char joined[MAX_VALUE];
  if (getenv == NULL || setenv == NULL || !is_python()) return;
  const char *folder = getenv("RIDEALONG_TORCH_FOLDER"), *value = getenv(VARIABLE);
  if (folder == NULL || folder[0] != '/' || is_isolated()) return;
  if (value != NULL && has_folder(value, folder)) return;
  if (length_of(folder) + (value == NULL ? 0 : length_of(value)) + 2 > sizeof joined) return;
  size_t at = append(joined, sizeof joined, 0, folder);
  // An empty value means no folder, but an empty part of a value means the current folder. The
  // slash tells sitecustomize.py that the value was empty.
  if (value != NULL && value[0] == '\0') at = append(joined, sizeof joined, at, "/");
  else if (value != NULL) at = append(joined, sizeof joined, at, ":");
  if (value != NULL) append(joined, sizeof joined, at, value);
  setenv(VARIABLE, joined, 1);
}
