# Runs an awk program that observes, and does for it what awk cannot do: it takes the signals, and in
# a native sidecar, which would be started again if it ended, it stays until it is told to go.

# The pipe that tells the program to end: the program reads it while it waits for its next sample, and
# sees the end of file as soon as this shell closes its side. dash makes a here-document a pipe, and
# Linux lets its other side be opened anew; a FIFO would need a file system to write to.
open_pipe() {
  exec 3<<-'END'
	END
  # Without /proc there is no pipe: the program finds the end of file at once, and says what is wrong.
  [ -w /proc/self/fd/3 ] && exec 4>/proc/self/fd/3
  [ "$told" = no ] || exec 4>&-
}

# What is wrong with the regular expression that the user wrote, in awk's own words; nothing when it holds.
problem_of_command() {
  printf %s "${RIDEALONG_TARGET_COMMAND-}" | gawk '{ "" ~ $0 }' 2>&1 |
    sed -n 's/.*fatal: \(invalid regexp: \)*//p'
}

# Waits for a process and says how it ended. A signal interrupts the waiting with a number above 128; so
# does a process that was killed, of which the next wait knows nothing any more, and says 127.
await() {
  code=128
  while [ $code -ge 128 ]; do
    wait "$1"
    code=$?
  done
  return $code
}

# A native sidecar that ends is restarted; so is every container of a pod that restarts always.
is_restarted() {
  [ "${RIDEALONG_MODE:-native}" != container ] || [ "${RIDEALONG_RESTART_POLICY:-Always}" = Always ]
}

# Runs lib/$1.awk and exits 0: a failure of an observer must not become one of its pod.
observe() {
  told=no
  trap 'told=yes; exec 4>&-' TERM INT
  # A status is read at once, not in pieces of the kilobyte that /proc proposes.
  export LC_ALL=C AWKPATH="$lib" AWKBUFSIZE=4096
  RIDEALONG_HERTZ=$(getconf CLK_TCK) RIDEALONG_PROBLEM=$(problem_of_command)
  export RIDEALONG_HERTZ RIDEALONG_PROBLEM
  open_pipe
  (
    trap '' TERM INT
    exec gawk -f "$1.awk"
  ) <&3 3<&- 4>&- &
  program=$!
  exec 3<&-
  await $program || say_failed
  [ "$told" = yes ] || ! is_restarted || stay
  exit 0
}

# The closing marker, without which the parser takes nothing of what was collected before.
say_failed() {
  echo 'ridealong: the observer failed; nothing more is collected' >&2
  printf '\nMETRICS OPERATOR COLLECTION END\n'
}

stay() {
  while [ "$told" = no ]; do
    sleep infinity &
    wait $!
    kill $!
  done
}
