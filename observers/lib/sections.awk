# A timepoint of perf-sysstat: eleven sections in the Metrics Operator's order, each a header and one line of
# JSON, with the keys and types that jc gives pidstat's output.

BEGIN {
  split("NORMAL FIFO RR BATCH ISO IDLE DEADLN EXT", POLICIES, " ")
}

# Prints the rows of this look's processes, and begins their next interval. The number of processes.
function print_timepoint(    i, n, keys, key, before) {
  clear_lines()
  for (i = 1; i <= SHOWN_COUNT; i++) {
    key = SHOWN[i]
    if (NOW - B[key][AT] < SHORTEST) continue
    keys[++n] = key
    append_rows(key, n > 1 ? "," : "")
  }
  if (n == 0) return 0
  before = USED
  emit("METRICS OPERATOR TIMEPOINT")
  print_sections()
  flush_log()
  clear_lines()
  for (i = 1; i <= n; i++) rebase(keys[i])
  ROW_BYTES = (USED - before) / n
  return n
}

function print_sections() {
  print_section("CPU STATISTICS TASK", CPU_ROWS)
  print_section("CPU STATISTICS CHILD", CHILD_CPU_ROWS)
  print_section("IO STATISTICS", IO_ROWS)
  print_section("POLICY", POLICY_ROWS)
  print_section("PAGEFAULTS TASK", FAULT_ROWS)
  print_section("PAGEFAULTS CHILD", CHILD_FAULT_ROWS)
  print_section("STACK UTILIZATION", STACK_ROWS)
  print_section("THREADS TASK", CPU_ROWS)
  print_section("THREADS CHILD", CHILD_CPU_ROWS)
  print_section("KERNEL TABLES", TABLE_ROWS)
  print_section("TASK SWITCHING", SWITCH_ROWS)
}

function print_section(header, rows) {
  emit(header)
  emit("[" rows "]")
}

function append_rows(key, comma,    head) {
  head = comma "{\"time\":" TIME C[key][IDS]
  append_shared(head, TAIL[key], C[key], B[key], NOW - B[key][AT])
  append_own(head, TAIL[key], C[key], B[key])
  if (HAS_THREADS) append_thread_rows(key, PID[key])
}

# What stands last in each row of a process, or of a thread with a name of its own.
function tail_of(key, command) {
  return ",\"command\":" quote(command) ",\"container\":" (HAS_NAMES ? quote(PLACE[key]) : "null") ",\"program\":" quote(PROGRAM[key]) "}"
}
