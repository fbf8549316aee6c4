// Declares and defines functions with up to 13 arguments, each of which is a whole register.

#define PARAMETERS_1 word a1
#define PARAMETERS_2 PARAMETERS_1, word a2
#define PARAMETERS_3 PARAMETERS_2, word a3
#define PARAMETERS_4 PARAMETERS_3, word a4
#define PARAMETERS_5 PARAMETERS_4, word a5
#define PARAMETERS_6 PARAMETERS_5, word a6
#define PARAMETERS_7 PARAMETERS_6, word a7
#define PARAMETERS_8 PARAMETERS_7, word a8
#define PARAMETERS_9 PARAMETERS_8, word a9
#define PARAMETERS_10 PARAMETERS_9, word a10
#define PARAMETERS_11 PARAMETERS_10, word a11
#define PARAMETERS_12 PARAMETERS_11, word a12
#define PARAMETERS_13 PARAMETERS_12, word a13
#define ARGUMENTS_1 a1
#define ARGUMENTS_2 ARGUMENTS_1, a2
#define ARGUMENTS_3 ARGUMENTS_2, a3
#define ARGUMENTS_4 ARGUMENTS_3, a4
#define ARGUMENTS_5 ARGUMENTS_4, a5
#define ARGUMENTS_6 ARGUMENTS_5, a6
#define ARGUMENTS_7 ARGUMENTS_6, a7
#define ARGUMENTS_8 ARGUMENTS_7, a8
#define ARGUMENTS_9 ARGUMENTS_8, a9
#define ARGUMENTS_10 ARGUMENTS_9, a10
#define ARGUMENTS_11 ARGUMENTS_10, a11
#define ARGUMENTS_12 ARGUMENTS_11, a12
#define ARGUMENTS_13 ARGUMENTS_12, a13

// The function that a hook replaces.
#define NEXT(symbol) static void *next_##symbol;

// An exception of C++ passes through the wrappers with the help of the unwind tables. The unwinder
// calls the personality routine of each of them; 0x1b is the encoding of its address
// (DW_EH_PE_pcrel | DW_EH_PE_sdata4; LSB Core, 10.5.1).
#define LEFT_BY_EXCEPTIONS __asm__ volatile(".cfi_personality 0x1b, leave_by_exception")

// The binding for C, which returns an error code.
#define WRAP_C(call, count)                                                          \
  NEXT(MPI_##call)                                                                   \
  static int MPI_##call(PARAMETERS_##count) {                                        \
    LEFT_BY_EXCEPTIONS;                                                              \
    const word arguments[] = {ARGUMENTS_##count};                                    \
    struct span span;                                                                \
    enter(&span, CALL_##call, arguments, BINDING_C);                                 \
    int error = ((int (*)(PARAMETERS_##count))next_MPI_##call)(ARGUMENTS_##count);   \
    leave(&span, CALL_##call, arguments, error);                                     \
    return error;                                                                    \
  }

// A binding for Fortran, in which all arguments are addresses. The last one is that of the error
// code, which may be missing in the module mpi_f08 (MPI 4.0, 19.1.2); the function then gets another
// one, because nothing else tells whether the call has succeeded.
#define WRAP_FORTRAN(call, symbol, count, binding)                                   \
  NEXT(symbol)                                                                       \
  static void symbol(PARAMETERS_##count, int *error) {                               \
    LEFT_BY_EXCEPTIONS;                                                              \
    const word arguments[] = {ARGUMENTS_##count};                                    \
    struct span span;                                                                \
    int own = 0, *code = error == NULL ? &own : error;                               \
    enter(&span, CALL_##call, arguments, binding);                                   \
    ((void (*)(PARAMETERS_##count, int *))next_##symbol)(ARGUMENTS_##count, code);   \
    leave(&span, CALL_##call, arguments, *code);                                     \
  }

// The functions for Fortran that begin and end MPI. Those of Open MPI do not call MPI_Init or
// MPI_Finalize. Those of MPICH may; then MPI_Init has already begun the record, or MPI_Finalize has
// ended it.
#define FORTRAN_ENDS(before, after)                                                          \
  NEXT(before##init##after)                                                                  \
  static void before##init##after(int *error) {                                              \
    begin_init(CALL_Init);                                                                   \
    ((void (*)(int *))next_##before##init##after)(error);                                    \
    end_init(error == NULL ? 0 : *error);                                                    \
  }                                                                                          \
  NEXT(before##init_thread##after)                                                           \
  static void before##init_thread##after(int *required, int *provided, int *error) {         \
    begin_init(CALL_Init_thread);                                                            \
    ((void (*)(int *, int *, int *))next_##before##init_thread##after)(required, provided, error); \
    end_init(error == NULL ? 0 : *error);                                                    \
  }                                                                                          \
  NEXT(before##finalize##after)                                                              \
  static void before##finalize##after(int *error) {                                          \
    uint64_t began = begin_finalize();                                                       \
    ((void (*)(int *))next_##before##finalize##after)(error);                                \
    end_finalize(began);                                                                     \
  }                                                                                          \
  NEXT(before##abort##after)                                                                 \
  static void before##abort##after(word communicator, word code, int *error) {               \
    finish(ABORTED);                                                                         \
    ((void (*)(word, word, int *))next_##before##abort##after)(communicator, code, error);   \
  }

// MPI_Session_init for Fortran. That of MPICH for mpif.h calls that for C, which has then already
// said so.
#define FORTRAN_SESSIONS(symbol)                                                       \
  NEXT(symbol)                                                                         \
  static void symbol(word information, word handler, word session, int *error) {       \
    ((void (*)(word, word, word, int *))next_##symbol)(information, handler, session, error); \
    begin_sessions(error == NULL ? 0 : *error);                                        \
  }

// The functions that free an object, for C and for Fortran, and their names for libraries that
// observe MPI. Those of MPICH for mpi_f08 begin with pmpir.
#define FREE_C(symbol, release)                    \
  NEXT(symbol)                                     \
  static int symbol(word place) {                  \
    release(place, BINDING_C);                     \
    return ((int (*)(word))next_##symbol)(place);  \
  }
#define FREE_FORTRAN(symbol, release, binding)            \
  NEXT(symbol)                                            \
  static void symbol(word place, int *error) {            \
    release(place, binding);                              \
    ((void (*)(word, int *))next_##symbol)(place, error); \
  }
#define FREES(name, lower, release)                      \
  FREE_C(MPI_##name, release)                            \
  FREE_FORTRAN(mpi_##lower##_, release, BINDING_FORTRAN) \
  FREE_FORTRAN(mpi_##lower##_f08_, release, BINDING_F08)
#define PMPI_FREES(name, lower, release)                  \
  FREE_C(PMPI_##name, release)                            \
  FREE_FORTRAN(pmpi_##lower##_, release, BINDING_FORTRAN) \
  FREE_FORTRAN(pmpi_##lower##_f08_, release, BINDING_F08) \
  FREE_FORTRAN(pmpir_##lower##_f08_, release, BINDING_F08)

// A function that jumps out of the calls of the program. setcontext has only the first argument.
#define JUMP(symbol)                                            \
  NEXT(symbol)                                                  \
  static int leave_##symbol(void *place, int value) {           \
    leave_by_jump();                                            \
    return ((int (*)(void *, int))next_##symbol)(place, value); \
  }
