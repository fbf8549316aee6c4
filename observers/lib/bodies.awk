# Rows, each appended to its section's line: head has what stands first in all of a process or a thread, tail what
# stands last. A variable for each line, since gawk appends to one in place.

function clear_lines() {
  CPU = CPU_CHILD = IO_LINE = POLICY = FAULTS = FAULTS_CHILD = STACK = TABLES = SWITCHES = ""
}

# What a process and a thread both have, of counters now and then, seconds apart. A counter that cannot be read
# is null.
function append_shared(head, tail, c, b, seconds,    percent) {
  percent = 100 / HERTZ / seconds
  CPU = CPU (head sprintf("\"percent_usr\":%.2f,\"percent_system\":%.2f,\"percent_guest\":%.2f,\"percent_wait\":%s,\"percent_cpu\":%.2f,\"cpu\":%d", \
    (c["ut"] - c["gt"] - b["ut"] + b["gt"]) * percent, (c["st"] - b["st"]) * percent, \
    (c["gt"] - b["gt"]) * percent, per_second(c["wait"], b["wait"], 1e7 * seconds), \
    (c["ut"] + c["st"] - b["ut"] - b["st"]) * percent, c["cpu"]) tail)
  IO_LINE = IO_LINE (head io_body(c, b, 1024 * seconds) tail)
  POLICY = POLICY (head "\"prio\":\"" c["prio"] "\",\"policy\":\"" POLICIES[c["policy"] + 1] "\"" tail)
  FAULTS = FAULTS (head sprintf("\"minflt_s\":%.2f,\"majflt_s\":%.2f", (c["mnf"] - b["mnf"]) / seconds, \
    (c["mjf"] - b["mjf"]) / seconds) memory_body(c) tail)
  SWITCHES = SWITCHES (head sprintf("\"cswch_s\":%.2f,\"nvcswch_s\":%.2f", (c["vcs"] - b["vcs"]) / seconds, \
    (c["ics"] - b["ics"]) / seconds) tail)
}

function io_body(c, b, unit,    delay) {
  delay = c["delay"] == "" || b["delay"] == "" ? "null" : "\"" c["delay"] - b["delay"] "\""
  if (c["rb"] == "" || b["rb"] == "") return "\"kb_rd_s\":null,\"kb_wr_s\":null,\"kb_ccwr_s\":null,\"iodelay\":" delay
  return sprintf("\"kb_rd_s\":%.2f,\"kb_wr_s\":%.2f,\"kb_ccwr_s\":%.2f,\"iodelay\":%s", (c["rb"] - b["rb"]) / unit, \
    (c["wb"] - b["wb"]) / unit, (c["cwb"] - b["cwb"]) / unit, delay)
}

# A zombie has no memory.
function memory_body(c) {
  if (c["rss"] == "") return ",\"vsz\":null,\"rss\":null,\"percent_mem\":null"
  return sprintf(",\"vsz\":%d,\"rss\":%d,\"percent_mem\":%.2f", c["vsz"], c["rss"], 100 * c["rss"] / MEMORY)
}

function per_second(now, before, unit) {
  return now == "" || before == "" ? "null" : sprintf("%.2f", (now - before) / unit)
}

# What a process alone has. CHILD is of the process and all its children that it has waited for.
function append_own(head, tail, c, b,    milliseconds) {
  milliseconds = 1000 / HERTZ
  CPU_CHILD = CPU_CHILD (head sprintf("\"usr_ms\":%d,\"system_ms\":%d,\"guest_ms\":%d", \
    (c["ut"] + c["cut"] - c["gt"] - c["cgt"] - b["ut"] - b["cut"] + b["gt"] + b["cgt"]) * milliseconds, \
    (c["st"] + c["cst"] - b["st"] - b["cst"]) * milliseconds, \
    (c["gt"] + c["cgt"] - b["gt"] - b["cgt"]) * milliseconds) tail)
  FAULTS_CHILD = FAULTS_CHILD (head sprintf("\"minflt_nr\":\"%d\",\"majflt_nr\":\"%d\"", \
    c["mnf"] + c["cmnf"] - b["mnf"] - b["cmnf"], c["mjf"] + c["cmjf"] - b["mjf"] - b["cmjf"]) tail)
  # What of the stack is in use stands in smaps alone, which is dear to read.
  STACK = STACK (head "\"stksize\":" (c["stk"] == "" ? "null" : c["stk"]) ",\"stkref\":null" tail)
  TABLES = TABLES (head "\"threads\":\"" c["threads"] "\",\"fd_nr\":" (c["fds"] == "" ? "null" : "\"" c["fds"] "\"") tail)
}
