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

# Prints the error message of gawk about the user's regular expression; nothing when it is valid.
problem_of_command() {
  printf %s "${RIDEALONG_TARGET_COMMAND-}" | (limit_memory 16384 && gawk '{ "" ~ $0 }') 2>&1 |
    sed -n 's/.*fatal: \(invalid regexp: \)*//p'
}

# Lets this shell and its children use this many KiB each. An allocation beyond that ends gawk with a
# message, where the kernel would kill it, and with cgroup v2 the whole container.
limit_memory() {
  [ -z "$1" ] || ulimit -d "$1"
}

# Prints how many KiB the container's memory limit leaves to gawk, beside this shell and the programs'
# code; nothing where no limit is known. The files are those of cgroup v2 and v1.
memory_for_gawk() {
  for file in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
    bytes=
    [ ! -r "$file" ] || read -r bytes <"$file"
    case $bytes in
      '' | *[!0-9]*) ;;
      *) echo $((bytes > 8388608 ? bytes / 1024 - 4096 : 4096)) && return ;;
    esac
  done
}

# Waits until a process ends, and returns its exit code. `wait` returns a number above 128 when this shell
# takes a signal, and also when the process was killed; dash 0.5.12 returns that number of a killed
# process again and again. So each further wait needs a signal that this shell took.
await() {
  code=129 signals_before=
  while [ $code -gt 128 ] && [ "$signals" != "$signals_before" ]; do
    signals_before=$signals
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
  told=no signals=0
  trap 'told=yes signals=$((signals + 1)); exec 4>&-' TERM INT
  # A status is read at once, not in pieces of the kilobyte that /proc proposes.
  export LC_ALL=C AWKPATH="$lib" AWKBUFSIZE=4096
  RIDEALONG_HERTZ=$(getconf CLK_TCK) RIDEALONG_PROBLEM=$(problem_of_command)
  export RIDEALONG_HERTZ RIDEALONG_PROBLEM
  open_pipe
  (
    trap '' TERM INT
    limit_memory "$(memory_for_gawk)"
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

# Waits for SIGTERM without using the processor.
stay() {
  trap 'kill $sleeping; exit 0' TERM INT
  [ "$told" = no ] || exit 0
  while :; do
    sleep infinity &
    sleeping=$!
    wait $sleeping
  done
}
