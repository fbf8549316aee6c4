// Uses a session of MPI: sessions [init]. With `init`, then also calls MPI_Init, and other calls.

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int sum_up(MPI_Comm communicator) {
  int one = 1, sum = 0;
  for (int i = 0; i < 20; i++) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, communicator);
  return sum;
}

int main(int count, char **words) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm all;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != 0) return 3;
  if (MPI_Group_from_session_pset(session, "mpi://WORLD", &group) != 0) return 4;
  if (MPI_Comm_create_from_group(group, "a", MPI_INFO_NULL, MPI_ERRORS_RETURN, &all) != 0) return 5;
  printf("%d\n", sum_up(all));
  MPI_Group_free(&group);
  MPI_Comm_free(&all);
  if (count > 1 && strcmp(words[1], "init") == 0) {
    MPI_Init(NULL, NULL);
    printf("%d\n", sum_up(MPI_COMM_WORLD));
    MPI_Finalize();
  }
  MPI_Session_finalize(&session);
  return 0;
}
