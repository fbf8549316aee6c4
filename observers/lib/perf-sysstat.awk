# perf-sysstat: what the application's processes use, over true intervals.
@include "json.awk"
@include "budget.awk"
@include "proc.awk"
@include "clock.awk"
@include "options.awk"
@include "container.awk"
@include "program.awk"
@include "look.awk"
@include "measure.awk"
@include "tasks.awk"
@include "account.awk"
@include "bodies.awk"
@include "sections.awk"
@include "threads.awk"
@include "metadata.awk"
@include "totals.awk"
@include "summary.awk"
@include "ending.awk"

BEGIN {
  read_options("perf-sysstat")
  # No process is younger than this in a row: a clock tick in a short time is a large share of it.
  SHORTEST = RATE < 0.2 ? RATE / 2 : 0.1
  if (!read_clock()) PROBLEM = "/proc cannot be read"
  if (PROBLEM == "") {
    read_machine()
    read_own_place()
    greet()
    PROBLEM = observe_all()
  }
  finish(PROBLEM)
}

function read_machine() {
  # Its first line is MemTotal.
  $0 = slurp("/proc/meminfo")
  TOTAL_MEMORY = $2 + 0
  HAS_FOLDER_SIZE = has_folder_size()
  # Delay accounting is off unless it was asked for, and then its counter is always zero.
  HAS_DELAYS = slurp("/proc/sys/kernel/task_delayacct") ~ /^(1|$)/
}

function greet() {
  if (!HAS_NAMES) say("no mount of the kubelet's names the containers: the processes of all but this one are observed")
  say("waiting for " wanted())
  flush_log()
}

function wanted() {
  return TARGET_COMMAND == "" ? "a process of container " TARGET_CONTAINER : "a program whose name matches " TARGET_COMMAND
}

# Looks at the processes until there is a reason to end, which it returns.
function observe_all(    due, reason, next_look) {
  BEGAN = NOW
  while (look()) {
    TIME = time_of_day()
    if (SHOWN_COUNT > 0 && !IS_OPEN) due = open_log()
    if (IS_OPEN && NOW >= due - SHORTEST / 2 && SHOWN_COUNT > 0) {
      take_timepoint()
      due = NOW + RATE * stretch()
    }
    if ((reason = reason_to_end()) != "") return reason
    next_look = NOW + (IS_OPEN ? tick() : RATE < 1 ? RATE : 1)
    if (IS_OPEN && next_look > due && due > NOW) next_look = due
    # What the look took is part of the interval.
    if (!read_clock() || !pause(next_look - NOW)) break
  }
  return IS_TOLD ? "told to end" : "/proc cannot be read"
}

# Between timepoints the processes are looked at, so that little is lost of those that end.
function tick(    parts) {
  parts = int(RATE / 5)
  return RATE / (parts * 5 < RATE ? parts + 1 : parts)
}

# The header, once there is a process: only then it is known which counters can be read.
function open_log(    i, hidden) {
  for (i = 1; i <= SHOWN_COUNT; i++) hidden += C[SHOWN[i]][RB] < 0
  open_sections(hidden == 0 ? "all" : hidden == SHOWN_COUNT ? "no-io" : "some-io")
  return NOW + RATE
}

function open_sections(counters) {
  IS_OPEN = 1
  print_metadata("CPU, memory, I/O, faults and context switches of the application's processes", member("counters", counters))
  emit("PIDSTAT COMMAND START")
  emit(quote(wanted()))
  emit("PIDSTAT COMMAND END")
  emit("METRICS OPERATOR COLLECTION START")
  flush_log()
}

function take_timepoint() {
  if (has_room((ROW_BYTES ? ROW_BYTES : 2400) * SHOWN_COUNT)) TIMEPOINTS += print_timepoint() > 0
  else if (!IS_FULL) {
    IS_FULL = 1
    say("the log has no room for more timepoints; the summary goes on")
    flush_log()
  }
}
