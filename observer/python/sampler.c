// Samples the Python stacks of all threads of a process with CPython.
//
// The dynamic linker loads this library into every program of the target container (LD_PRELOAD). In
// a program whose name begins with `python` and that has an interpreter, it begins one thread
// (lifetime.h), which reads the memory of the process (read.h, stack.h) without the GIL, without
// ptrace and without a signal, and counts the stacks in memory that the observer reads (shared.h,
// tree.h). Nothing is stopped. In all other programs, it does nothing.
//
// The library must not harm any program, so it follows these rules:
//
// - It needs no other library, and all its undefined symbols are weak and have no version. The
//   dynamic linker ends a program if a library that a preloaded library needs is missing (ld.so(8);
//   glibc elf/rtld.c, do_preload; musl ldso/dynlink.c, load_deps). It resolves a missing weak
//   symbol to 0.
// - It defines no symbol that a program could find.
// - System calls are made directly (system.h), so that they neither change errno nor depend on a C
//   library.
// - Its memory is fixed. If there are more stacks than fit, the innermost frames are missing.
// - Nothing of the interpreter is read through a pointer: an object may have been freed. A failed
//   read is a failed sample.

#include "../preload/freestanding.h"
#include "../preload/system.h"

#include "lifetime.h"
