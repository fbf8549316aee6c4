# A timepoint of perf-sysstat: eleven sections in the Metrics Operator's order, each a header and one line of
# JSON, with the keys and types that jc gives pidstat's output.

BEGIN {
  split("CPU STATISTICS TASK|CPU STATISTICS CHILD|IO STATISTICS|POLICY|PAGEFAULTS TASK|PAGEFAULTS CHILD|STACK UTILIZATION|THREADS TASK|THREADS CHILD|KERNEL TABLES|TASK SWITCHING", HEADERS, "|")
  split("cpu cpu_child io policy faults faults_child stack cpu cpu_child tables switches", BODIES, " ")
  split("NORMAL FIFO RR BATCH ISO IDLE DEADLN EXT", POLICIES, " ")
}

# Prints the rows of this look's processes, and begins their next interval. The number of rows.
function print_timepoint(    i, n, keys, key, before) {
  for (i = 1; i <= SHOWN_COUNT; i++) {
    key = SHOWN[i]
    if (NOW - B[key]["at"] < SHORTEST || key in ZOMBIE && ZOMBIE[key] == "shown") continue
    keys[++n] = key
    make_rows(key)
  }
  if (n == 0) return 0
  before = USED
  emit("METRICS OPERATOR TIMEPOINT")
  for (i = 1; i <= 11; i++) print_section(HEADERS[i], BODIES[i], keys, n)
  flush_log()
  for (i = 1; i <= n; i++) end_interval(keys[i])
  delete ROWS
  ROW_BYTES = (USED - before) / n
  return n
}

function print_section(header, body, keys, n,    i, row, bytes) {
  emit(header)
  printf "["
  for (i = 1; i <= n; i++) {
    row = (i > 1 ? "," : "") ROWS[keys[i]][body]
    bytes += length(row)
    printf "%s", row
  }
  print "]"
  USED += bytes + 2 + 48 * (1 + int(bytes / 16384))
}

function end_interval(key) {
  rebase(key)
  if (key in ZOMBIE) ZOMBIE[key] = "shown"
}

function make_rows(key,    body, texts, pid, head, tail, ids) {
  pid = key + 0
  make_bodies(C[key], B[key], NOW - B[key]["at"], texts)
  make_own_bodies(C[key], B[key], texts)
  ids = HAS_THREADS ? "\"tgid\":\"" pid "\",\"tid\":\"-\",\"pid\":" pid : "\"pid\":" pid
  head = "{\"time\":" TIME ",\"uid\":" C[key]["uid"] "," ids ","
  tail = ",\"command\":" quote(COMM[key]) tail_of(key)
  for (body in texts) ROWS[key][body] = head texts[body] tail
  if (HAS_THREADS) add_thread_rows(key, pid)
}

function tail_of(key) {
  return ",\"container\":" (HAS_NAMES ? quote(PLACE[key]) : "null") ",\"program\":" quote(PROGRAM[key]) "}"
}
