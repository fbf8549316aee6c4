// Calls functions of MPI with NULL, and with other wrong arguments, and prints their error codes.
// With an argument, calls only one function that ends some MPI libraries.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void print(int error, const char *call) {
  int kind = 0;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &kind);
  printf("%d %s\n", kind, call);
  fflush(stdout);
}

#define PRINT(...) print(__VA_ARGS__, #__VA_ARGS__)

static void complete(void) {
  int flag, index, count, indices[3];
  PRINT(MPI_Wait(NULL, MPI_STATUS_IGNORE));
  PRINT(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
  PRINT(MPI_Waitall(3, NULL, MPI_STATUSES_IGNORE));
  PRINT(MPI_Waitany(3, NULL, &index, MPI_STATUS_IGNORE));
  PRINT(MPI_Waitsome(3, NULL, &count, indices, MPI_STATUSES_IGNORE));
  PRINT(MPI_Testall(3, NULL, &flag, MPI_STATUSES_IGNORE));
  PRINT(MPI_Testany(3, NULL, &index, &flag, MPI_STATUS_IGNORE));
  PRINT(MPI_Testsome(3, NULL, &count, indices, MPI_STATUSES_IGNORE));
  PRINT(MPI_Start(NULL));
  PRINT(MPI_Startall(3, NULL));
  PRINT(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  PRINT(MPI_Waitall(-1, NULL, MPI_STATUSES_IGNORE));
}

static void communicate(void) {
  int data[4] = {0}, other[4];
  MPI_Request request;
  PRINT(MPI_Isend(data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL));
  PRINT(MPI_Irecv(data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL));
  PRINT(MPI_Send_init(data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, NULL));
  PRINT(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF));
  PRINT(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
  PRINT(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF));
  PRINT(MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  PRINT(MPI_Scatterv(data, NULL, NULL, MPI_INT, other, 1, MPI_INT, 0, MPI_COMM_NULL));
  PRINT(MPI_Alltoallv(data, NULL, NULL, MPI_INT, other, NULL, NULL, MPI_INT, MPI_COMM_NULL));
  PRINT(MPI_Alltoallw(data, NULL, NULL, NULL, other, NULL, NULL, NULL, MPI_COMM_NULL));
  PRINT(MPI_Reduce_scatter(data, other, NULL, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  PRINT(MPI_Ialltoallv(data, NULL, NULL, MPI_INT, other, NULL, NULL, MPI_INT, MPI_COMM_NULL, &request));
}

static void create(void) {
  PRINT(MPI_Comm_dup(MPI_COMM_SELF, NULL));
  PRINT(MPI_Comm_split(MPI_COMM_SELF, 0, 0, NULL));
  PRINT(MPI_Comm_create(MPI_COMM_SELF, MPI_GROUP_NULL, NULL));
  PRINT(MPI_Cart_create(MPI_COMM_SELF, 1, NULL, NULL, 0, NULL));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const char *only = argc > 1 ? argv[1] : "";
  if (strcmp(only, "wait") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Wait(NULL, MPI_STATUS_IGNORE);
  }
  if (strcmp(only, "free") == 0) PRINT(MPI_Comm_free(NULL));
  if (strcmp(only, "disconnect") == 0) PRINT(MPI_Comm_disconnect(NULL));
  if (strcmp(only, "window") == 0) PRINT(MPI_Win_free(NULL));
  complete();
  communicate();
  create();
  MPI_Finalize();
}
