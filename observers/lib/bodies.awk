# Rows, each appended to its section's line: head has what stands first in all of a process or a thread, tail what
# stands last. A variable for each line, since gawk appends to one in place.

function clear_lines() {
  CPU_ROWS = CHILD_CPU_ROWS = IO_ROWS = POLICY_ROWS = FAULT_ROWS = CHILD_FAULT_ROWS = STACK_ROWS = TABLE_ROWS = SWITCH_ROWS = ""
}

# What a process and a thread both have, of counters now and then, seconds apart. A counter that cannot be read
# is null.
function append_shared(head, tail, c, b, seconds,    unit, usr, sys, guest) {
  # As many ticks as are a hundredth of a core.
  unit = HERTZ * seconds / 100
  usr = c[UTIME] - b[UTIME]
  sys = c[STIME] - b[STIME]
  guest = c[GTIME] - b[GTIME]
  CPU_ROWS = CPU_ROWS (head "\"percent_usr\":" decimal((usr - guest) / unit) ",\"percent_system\":" decimal(sys / unit) \
    ",\"percent_guest\":" decimal(guest / unit) \
    ",\"percent_wait\":" (c[WAIT] < 0 || b[WAIT] < 0 ? "null" : decimal((c[WAIT] - b[WAIT]) / 1e7 / seconds)) \
    ",\"percent_cpu\":" decimal((usr + sys) / unit) ",\"cpu\":" c[PROCESSOR] tail)
  IO_ROWS = IO_ROWS (head io_body(c, b, 1024 * seconds) tail)
  POLICY_ROWS = POLICY_ROWS (head "\"prio\":\"" c[PRIO] "\",\"policy\":\"" POLICIES[c[POLICY] + 1] "\"" tail)
  FAULT_ROWS = FAULT_ROWS (head "\"minflt_s\":" decimal((c[MINFLT] - b[MINFLT]) / seconds) \
    ",\"majflt_s\":" decimal((c[MAJFLT] - b[MAJFLT]) / seconds) memory_body(c) tail)
  SWITCH_ROWS = SWITCH_ROWS (head "\"cswch_s\":" decimal((c[VCS] - b[VCS]) / seconds) \
    ",\"nvcswch_s\":" decimal((c[ICS] - b[ICS]) / seconds) tail)
}

function io_body(c, b, unit,    delay) {
  delay = c[DELAY] < 0 || b[DELAY] < 0 ? "null" : "\"" c[DELAY] - b[DELAY] "\""
  if (c[RB] < 0 || b[RB] < 0) return "\"kb_rd_s\":null,\"kb_wr_s\":null,\"kb_ccwr_s\":null,\"iodelay\":" delay
  return "\"kb_rd_s\":" decimal((c[RB] - b[RB]) / unit) ",\"kb_wr_s\":" decimal((c[WB] - b[WB]) / unit) \
    ",\"kb_ccwr_s\":" decimal((c[CWB] - b[CWB]) / unit) ",\"iodelay\":" delay
}

# A zombie has no memory.
function memory_body(c) {
  if (c[RSS] < 0) return ",\"vsz\":null,\"rss\":null,\"percent_mem\":null"
  return ",\"vsz\":" c[VSZ] ",\"rss\":" c[RSS] ",\"percent_mem\":" decimal(100 * c[RSS] / MEMORY)
}

# Most counters rest, and gawk formats a number slowly.
function decimal(number) {
  return number == 0 ? "0.00" : sprintf("%.2f", number)
}

# What a process alone has. CHILD is of the process and all its children that it has waited for.
function append_own(head, tail, c, b,    milliseconds, guest) {
  milliseconds = 1000 / HERTZ
  guest = c[GTIME] + c[CGTIME] - b[GTIME] - b[CGTIME]
  CHILD_CPU_ROWS = CHILD_CPU_ROWS (head \
    "\"usr_ms\":" int((c[UTIME] + c[CUTIME] - b[UTIME] - b[CUTIME] - guest) * milliseconds) \
    ",\"system_ms\":" int((c[STIME] + c[CSTIME] - b[STIME] - b[CSTIME]) * milliseconds) \
    ",\"guest_ms\":" int(guest * milliseconds) tail)
  CHILD_FAULT_ROWS = CHILD_FAULT_ROWS (head \
    "\"minflt_nr\":\"" (c[MINFLT] + c[CMINFLT] - b[MINFLT] - b[CMINFLT]) \
    "\",\"majflt_nr\":\"" (c[MAJFLT] + c[CMAJFLT] - b[MAJFLT] - b[CMAJFLT]) "\"" tail)
  # What of the stack is in use stands in smaps alone, which is dear to read.
  STACK_ROWS = STACK_ROWS (head "\"stksize\":" (c[STK] < 0 ? "null" : c[STK]) ",\"stkref\":null" tail)
  TABLE_ROWS = TABLE_ROWS (head "\"threads\":\"" c[THREADS] "\",\"fd_nr\":" (c[FDS] < 0 ? "null" : "\"" c[FDS] "\"") tail)
}
