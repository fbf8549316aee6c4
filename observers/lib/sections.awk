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
  make_own_bodies(key, texts)
  ids = HAS_THREADS ? "\"tgid\":\"" pid "\",\"tid\":\"-\",\"pid\":" pid : "\"pid\":" pid
  head = "{\"time\":" TIME ",\"uid\":" C[key]["uid"] "," ids ","
  tail = ",\"command\":" quote(COMM[key]) tail_of(key)
  for (body in texts) ROWS[key][body] = head texts[body] tail
  if (HAS_THREADS) add_thread_rows(key, pid)
}

function tail_of(key) {
  return ",\"container\":" (HAS_NAMES ? quote(PLACE[key]) : "null") ",\"program\":" quote(PROGRAM[key]) "}"
}

# What a process and a thread both have, of counters now and then, seconds apart.
function make_bodies(c, b, seconds, texts) {
  texts["cpu"] = "\"percent_usr\":" share(c["ut"] - c["gt"], b["ut"] - b["gt"], HERTZ, seconds) \
    ",\"percent_system\":" share(c["st"], b["st"], HERTZ, seconds) \
    ",\"percent_guest\":" share(c["gt"], b["gt"], HERTZ, seconds) \
    ",\"percent_wait\":" share(c["wait"], b["wait"], 1e9, seconds) \
    ",\"percent_cpu\":" share(c["ut"] + c["st"], b["ut"] + b["st"], HERTZ, seconds) ",\"cpu\":" c["cpu"]
  texts["io"] = "\"kb_rd_s\":" per_second(c["rb"], b["rb"], 1024, seconds) \
    ",\"kb_wr_s\":" per_second(c["wb"], b["wb"], 1024, seconds) \
    ",\"kb_ccwr_s\":" per_second(c["cwb"], b["cwb"], 1024, seconds) ",\"iodelay\":" count(c["delay"], b["delay"])
  texts["policy"] = "\"prio\":\"" c["prio"] "\",\"policy\":\"" POLICIES[c["policy"] + 1] "\""
  texts["faults"] = "\"minflt_s\":" per_second(c["mnf"], b["mnf"], 1, seconds) \
    ",\"majflt_s\":" per_second(c["mjf"], b["mjf"], 1, seconds) ",\"vsz\":" value(c["vsz"]) \
    ",\"rss\":" value(c["rss"]) \
    ",\"percent_mem\":" (c["rss"] == "" ? "null" : sprintf("%.2f", 100 * c["rss"] / MEMORY))
  texts["switches"] = "\"cswch_s\":" per_second(c["vcs"], b["vcs"], 1, seconds) \
    ",\"nvcswch_s\":" per_second(c["ics"], b["ics"], 1, seconds)
}

# What a process alone has. CHILD is of the process and all its children that it has waited for.
function make_own_bodies(key, texts) {
  texts["cpu_child"] = "\"usr_ms\":" milliseconds(key, "ut", "cut", "gt", "cgt") \
    ",\"system_ms\":" milliseconds(key, "st", "cst") ",\"guest_ms\":" milliseconds(key, "gt", "cgt")
  texts["faults_child"] = "\"minflt_nr\":" count(C[key]["mnf"] + C[key]["cmnf"], B[key]["mnf"] + B[key]["cmnf"]) \
    ",\"majflt_nr\":" count(C[key]["mjf"] + C[key]["cmjf"], B[key]["mjf"] + B[key]["cmjf"])
  # What of the stack is in use stands in smaps alone, which is dear to read.
  texts["stack"] = "\"stksize\":" value(C[key]["stk"]) ",\"stkref\":null"
  texts["tables"] = "\"threads\":\"" C[key]["threads"] "\",\"fd_nr\":" \
    (C[key]["fds"] == "" ? "null" : "\"" C[key]["fds"] "\"")
}
