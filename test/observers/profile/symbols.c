// Uses as many milliseconds of processor time as the first argument says, in functions whose
// symbols take a parser of C++ names exponential time: a part of them can be read in two ways, and
// is repeated 26 times.

#include <stdlib.h>
#include <time.h>

#define TWICE(text) text text
#define FOUR_TIMES(text) TWICE(TWICE(text))
#define REPEATED(text) FOUR_TIMES(FOUR_TIMES(text)) FOUR_TIMES(TWICE(text)) TWICE(text)
#define FUNCTION(name, part)                               \
  void name(long steps) __asm__("_Z" REPEATED(part));      \
  __attribute__((noinline)) void name(long steps) {        \
    for (long step = 0; step < steps; step++) sum += step; \
  }

volatile double sum;

FUNCTION(convert, "cvT_I")
FUNCTION(convert_reference, "cvRT_I")
FUNCTION(convert_temporary, "cvOT_I")
FUNCTION(convert_pointer, "cvPT_I")
FUNCTION(convert_name, "cvSt1aI")
FUNCTION(convert_substitution, "cvS_I")

int main(int count, char **words) {
  double seconds = count > 1 ? atof(words[1]) / 1000 : 1;
  while (clock() < seconds * CLOCKS_PER_SEC) {
    convert(100000);
    convert_reference(100000);
    convert_temporary(100000);
    convert_pointer(100000);
    convert_name(100000);
    convert_substitution(100000);
  }
  return 0;
}
