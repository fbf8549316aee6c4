// Records the calls of MPI that a process makes: for each call, communicator and peer, how many,
// how long, and how many bytes.
//
// The dynamic linker loads this library into every program of the target container (LD_PRELOAD). If
// the program has an MPI library, its references to MPI_* are redirected to the functions of this
// library (hooks.h). Each calls the function of the MPI library, and adds its duration to a table
// (record.h, rows.h). The table is written to a file of the results folder about once a second, and
// at the end (file.h). No message is sent. Therefore a job can run in which only some processes are
// recorded, and the file of a process that is killed still has its calls.
//
// The library must not harm any program, so it follows these rules:
//
// - It needs no other library, and all its undefined symbols are weak and have no version. The
//   dynamic linker ends a program if a library that a preloaded library needs is missing (ld.so(8);
//   glibc elf/rtld.c, do_preload; musl ldso/dynlink.c, load_deps). It resolves a missing weak
//   symbol to 0, and accepts any version of a symbol without a version. So the library also loads
//   under musl, and into programs without MPI.
// - It defines no symbol. A program may look for functions that not all MPI libraries have, or for
//   MPI itself, by weak symbols or with dlsym, and finds only what its own libraries define.
// - System calls are made directly (system.h), so that they neither change errno nor depend on a C
//   library.
// - Its memory is fixed. If there are more communicators, peers or requests than fit, the table is
//   less exact.
// - It writes with pwrite, and not through a mapping of the file: a program that writes to a
//   mapping of a file that was truncated, or on a full volume, gets SIGBUS (mmap(2)). The file is
//   opened for each write: the recorder must not write to a file of the program, which may have
//   closed all files and opened others.
// - Wrong arguments reach the function of the MPI library, which reports them. No address is read
//   before that call unless it is not NULL, and otherwise only after the call has succeeded.
//
// One library works with Open MPI and with MPICH, whose handles differ. A handle is a pointer in
// Open MPI (ompi/include/mpi.h.in, "typedef struct ompi_communicator_t *MPI_Comm") and an int in
// MPICH and in the libraries that share its ABI (MPICH src/include/mpi.h.in, "typedef int
// MPI_Comm"). All other arguments are integers and pointers. In the calling conventions of x86_64
// (System V ABI, 3.2.3) and of aarch64 on Linux (AAPCS64, 6.8.2), each of them takes one register
// or eight bytes of the stack. Therefore a wrapper can pass each argument on as a whole register.

#include "../preload/freestanding.h"
#include "../preload/system.h"
#include "../preload/text.h"

#include "lifetime.h"
#include "wrap.h"

NEXT(dlsym)
NEXT(MPI_Init)
NEXT(MPI_Init_thread)
NEXT(MPI_Session_init)
NEXT(MPI_Finalize)
NEXT(MPI_Abort)

static int MPI_Init(word count, word arguments) {
  begin_init(CALL_Init);
  int error = ((int (*)(word, word))next_MPI_Init)(count, arguments);
  end_init(error);
  return error;
}

static int MPI_Init_thread(word count, word arguments, word required, word provided) {
  int (*next)(word, word, word, word) = next_MPI_Init_thread;
  begin_init(CALL_Init_thread);
  int error = next(count, arguments, required, provided);
  end_init(error);
  return error;
}

static int MPI_Session_init(word information, word handler, word session) {
  int error = ((int (*)(word, word, word))next_MPI_Session_init)(information, handler, session);
  begin_sessions(error);
  return error;
}

static int MPI_Finalize(void) {
  uint64_t began = begin_finalize();
  int error = ((int (*)(void))next_MPI_Finalize)();
  end_finalize(began);
  return error;
}

static int MPI_Abort(word communicator, word code) {
  finish(ABORTED);
  return ((int (*)(word, word))next_MPI_Abort)(communicator, code);
}

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
JUMP(setcontext)
FORTRAN_ENDS(mpi_, _)
FORTRAN_ENDS(mpi_, _f08_)
FORTRAN_SESSIONS(mpi_session_init_)
FORTRAN_SESSIONS(mpi_session_init_f08_)
// The others of communicators are among the calls.
PMPI_FREES(Comm_free, comm_free, free_unrecorded)
PMPI_FREES(Comm_disconnect, comm_disconnect, free_unrecorded)
FREES(Request_free, request_free, free_request)
PMPI_FREES(Request_free, request_free, free_request)
FREES(Type_free, type_free, free_type)
PMPI_FREES(Type_free, type_free, free_type)

#define CALL(name, lower, count, ...) WRAP_C(name, count)
#define CALL_C CALL
#include "calls.h"
#undef CALL
#undef CALL_C
#define CALL_C(name, lower, count, ...)
#define CALL(name, lower, count, ...)                        \
  WRAP_FORTRAN(name, mpi_##lower##_, count, BINDING_FORTRAN) \
  WRAP_FORTRAN(name, mpi_##lower##_f08_, count, BINDING_F08)
#include "calls.h"
#undef CALL
#undef CALL_C

#define HOOK(symbol) {#symbol, symbol, &next_##symbol},
#define HOOK_FORTRAN_ENDS(before, after) \
  HOOK(before##init##after)              \
  HOOK(before##init_thread##after)       \
  HOOK(before##finalize##after)          \
  HOOK(before##abort##after)
#define HOOK_FREES(name, lower) HOOK(MPI_##name) HOOK(mpi_##lower##_) HOOK(mpi_##lower##_f08_)
#define HOOK_PMPI_FREES(name, lower) \
  HOOK(PMPI_##name)                  \
  HOOK(pmpi_##lower##_)              \
  HOOK(pmpi_##lower##_f08_)          \
  HOOK(pmpir_##lower##_f08_)
#define CALL_C(name, lower, count, ...) HOOK(MPI_##name)
#define CALL(name, lower, count, ...) \
  HOOK(MPI_##name)                    \
  HOOK(mpi_##lower##_)                \
  HOOK(mpi_##lower##_f08_)

const struct hook hooks[] = {
    {"dlsym", look_up, &next_dlsym},
    {"longjmp", leave_longjmp, &next_longjmp},
    {"_longjmp", leave__longjmp, &next__longjmp},
    {"siglongjmp", leave_siglongjmp, &next_siglongjmp},
    {"__longjmp_chk", leave___longjmp_chk, &next___longjmp_chk},
    {"setcontext", leave_setcontext, &next_setcontext},
    HOOK(MPI_Init)
    HOOK(MPI_Init_thread)
    HOOK(MPI_Session_init)
    HOOK(mpi_session_init_)
    HOOK(mpi_session_init_f08_)
    HOOK_PMPI_FREES(Comm_free, comm_free)
    HOOK_PMPI_FREES(Comm_disconnect, comm_disconnect)
    HOOK_FREES(Request_free, request_free)
    HOOK_PMPI_FREES(Request_free, request_free)
    HOOK_FREES(Type_free, type_free)
    HOOK_PMPI_FREES(Type_free, type_free)
    HOOK(MPI_Finalize)
    HOOK(MPI_Abort)
    HOOK_FORTRAN_ENDS(mpi_, _)
    HOOK_FORTRAN_ENDS(mpi_, _f08_)
#include "calls.h"
};

const size_t hook_count = sizeof hooks / sizeof *hooks;
_Static_assert(sizeof hooks / sizeof *hooks <= HOOK_SLOTS / 2, "searches are short");

__attribute__((constructor)) static void begin(void) {
  first_process = (uint32_t)call(SYS_getpid, 0, 0, 0, 0);
  look_for_objects(AT_STARTUP);
}
