// The functions and handles of the MPI library.

#pragma once

#include "hooks.h"
#include "table.h"

static struct {
  int (*Comm_size)(word, int *);
  int (*Comm_rank)(word, int *);
  int (*Comm_test_inter)(word, int *);
  int (*Comm_remote_size)(word, int *);
  int (*Comm_group)(word, word *);
  int (*Comm_remote_group)(word, word *);
  int (*Group_translate_ranks)(word, int, const int *, word, int *);
  int (*Group_free)(word *);
  int (*Type_size_x)(word, int64_t *);
  int (*Topo_test)(word, int *);
  int (*Cartdim_get)(word, int *);
  int (*Cart_shift)(word, int, int, int *, int *);
  int (*Graph_neighbors_count)(word, int, int *);
  int (*Dist_graph_neighbors_count)(word, int *, int *, int *);
  // In MPICH, these are macros: the handles for Fortran are the same numbers.
  word (*Comm_f2c)(int);
  word (*Type_f2c)(int);
  word (*Request_f2c)(int);
  word (*Op_f2c)(int);
} mpi;

// The handles with a fixed value.
static struct {
  word world, null_communicator, null_type, null_request, no_operation;
} handles;

// The address that is MPI_IN_PLACE in Fortran; 0 if the library has none.
static word fortran_in_place;

static int contains(const char *text, const char *part) {
  for (; *text != '\0'; text++) {
    size_t at = 0;
    while (part[at] != '\0' && text[at] == part[at]) at++;
    if (part[at] == '\0') return 1;
  }
  return 0;
}

// Finds a variable of Open MPI. The program may have a copy of it, which then is the only one in
// use (System V ABI, copy relocation). The dynamic linker finds that copy first.
static word find_variable(const char *name) { return (word)find(name); }

static int find_functions(void) {
#define FIND(name) mpi.name = find("PMPI_" #name)
  FIND(Comm_size);
  FIND(Comm_rank);
  FIND(Comm_test_inter);
  FIND(Comm_remote_size);
  FIND(Comm_group);
  FIND(Comm_remote_group);
  FIND(Group_translate_ranks);
  FIND(Group_free);
  FIND(Type_size_x);
  FIND(Topo_test);
  FIND(Cartdim_get);
  FIND(Cart_shift);
  FIND(Graph_neighbors_count);
  FIND(Dist_graph_neighbors_count);
  FIND(Comm_f2c);
  FIND(Type_f2c);
  FIND(Request_f2c);
  FIND(Op_f2c);
  return mpi.Comm_size && mpi.Comm_rank && mpi.Comm_test_inter && mpi.Comm_remote_size &&
         mpi.Comm_group && mpi.Comm_remote_group && mpi.Group_translate_ranks && mpi.Group_free &&
         mpi.Type_size_x;
}

// Detects the library, and with it the handles. The values for MPICH are those of its ABI (MPICH
// src/include/mpi.h.in; www.mpich.org/abi), which MVAPICH, Intel MPI and Cray MPICH share. A
// library that is in use with the ABI of MPI 5.0 (chapter 20) has other handles.
static void detect_library(void) {
  static char name[MAX_LIBRARY_VERSION + 1];
  int (*get_version)(char *, int *) = find("PMPI_Get_library_version");
  int (*get_abi)(int *, int *) = find("PMPI_Abi_get_version");
  int length = 0, major = -1, minor = -1;
  if (get_version == NULL || get_version(name, &length) != 0) name[0] = '\0';
  for (size_t at = 0; name[at] != '\0'; at++) {
    if ((unsigned char)name[at] < ' ') name[at] = ' ';
  }
  append(table.library_name, TEXT, 0, name);
  if (get_abi != NULL && get_abi(&major, &minor) == 0 && major >= 0) return;
  handles.world = find_variable("ompi_mpi_comm_world");
  if (handles.world != 0) {
    handles.null_communicator = find_variable("ompi_mpi_comm_null");
    handles.null_type = find_variable("ompi_mpi_datatype_null");
    handles.null_request = find_variable("ompi_request_null");
    handles.no_operation = find_variable("ompi_mpi_op_no_op");
    table.library = OPEN_MPI;
  } else if (contains(name, "MPICH") || contains(name, "MVAPICH") || contains(name, "Intel(R) MPI")) {
    handles.world = 0x44000000;
    handles.null_communicator = 0x04000000;
    handles.null_type = 0x0c000000;
    handles.null_request = 0x2c000000;
    handles.no_operation = 0x5800000e;
    table.library = MPICH;
  }
}

// Finds MPI_IN_PLACE of Fortran: the address of a variable. In Open MPI, it has one of four names,
// which depends on the compiler (OMPI_IS_FORTRAN_IN_PLACE in mpif-c-constants-decl.h). In MPICH, it
// is that of mpi_f08 (src/include/mpi.h.in); calls with mpif.h are recorded as calls from C.
static void find_in_place(void) {
  static const char *const names[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place",
                                      "MPI_FORTRAN_IN_PLACE", "mpi_fortran_in_place__",
                                      "MPIR_F08_MPI_IN_PLACE"};
  for (size_t at = 0; fortran_in_place == 0 && at < sizeof names / sizeof *names; at++) {
    fortran_in_place = find_variable(names[at]);
  }
}

static word to_handle(word argument) {
  return table.library == MPICH ? (uint32_t)argument : argument;
}

// Reads the handle at a position of an array.
static word handle_at(word address, size_t position, enum binding binding, word (*from_fortran)(int)) {
  if (binding != BINDING_C && table.library == OPEN_MPI) {
    return from_fortran == NULL ? 0 : from_fortran(((const int *)address)[position]);
  }
  return table.library == MPICH ? ((const uint32_t *)address)[position]
                                : ((const word *)address)[position];
}
