// After two seconds, the process protects its files in /proc from its own user.
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
  sleep(2);
  if (prctl(PR_SET_DUMPABLE, 0)) return 2;
  sleep(600);
}
