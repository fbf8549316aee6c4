# Rows, each appended to its section's line: head has what stands first in all of a process or a thread, tail what
# stands last. A variable for each line, since gawk appends to one in place.

BEGIN {
  # Of a process that rests.
  NO_SHARES = shares_body(0, 0, 0)
  NO_TOTAL = total_body(0)
  NO_TRANSFERS = transfers_body(0, 0, 0)
  NO_FAULTS = faults_body(0, 0)
  NO_CHILD_TIMES = child_times_body(0, 0, 0)
  NO_CHILD_FAULTS = child_faults_body(0, 0)
  # Of one whose counters cannot be read.
  HIDDEN_TRANSFERS = "\"kb_rd_s\":null,\"kb_wr_s\":null,\"kb_ccwr_s\":null,\"iodelay\":"
  NO_MEMORY = ",\"vsz\":null,\"rss\":null,\"percent_mem\":null"
}

function clear_lines() {
  CPU_ROWS = CHILD_CPU_ROWS = IO_ROWS = POLICY_ROWS = FAULT_ROWS = CHILD_FAULT_ROWS = STACK_ROWS = TABLE_ROWS = SWITCH_ROWS = ""
}

# What a process and a thread both have, of counters now and then, seconds apart. A counter that cannot be read
# is null.
function append_shared(head, tail, c, b, seconds) {
  CPU_ROWS = CPU_ROWS (head cpu_body(c, b, seconds) tail)
  IO_ROWS = IO_ROWS (head io_body(c, b, seconds) tail)
  POLICY_ROWS = POLICY_ROWS (head c[POLICY] tail)
  FAULT_ROWS = FAULT_ROWS (head (c[MOVED] ? faults(c, b, seconds) : NO_FAULTS) c[MEMORY] tail)
  SWITCH_ROWS = SWITCH_ROWS (head sprintf("\"cswch_s\":%.2f,\"nvcswch_s\":%.2f", (c[VCS] - b[VCS]) / seconds, \
    (c[ICS] - b[ICS]) / seconds) tail)
}

function cpu_body(c, b, seconds,    wait, unit, usr, sys, guest) {
  wait = c[WAIT] < 0 || b[WAIT] < 0 ? "null" : decimal((c[WAIT] - b[WAIT]) / 1e7 / seconds)
  if (!c[MOVED]) return NO_SHARES wait NO_TOTAL c[PROCESSOR]
  # As many ticks as are a hundredth of a core.
  unit = HERTZ * seconds / 100
  usr = c[UTIME] - b[UTIME]
  sys = c[STIME] - b[STIME]
  guest = c[GTIME] - b[GTIME]
  return shares_body((usr - guest) / unit, sys / unit, guest / unit) wait total_body((usr + sys) / unit) c[PROCESSOR]
}

function shares_body(usr, sys, guest) {
  return "\"percent_usr\":" decimal(usr) ",\"percent_system\":" decimal(sys) ",\"percent_guest\":" decimal(guest) \
    ",\"percent_wait\":"
}

function total_body(share) {
  return ",\"percent_cpu\":" decimal(share) ",\"cpu\":"
}

function io_body(c, b, seconds,    delay, unit) {
  delay = c[DELAY] < 0 || b[DELAY] < 0 ? "null" : "\"" c[DELAY] - b[DELAY] "\""
  if (c[RB] < 0 || b[RB] < 0) return HIDDEN_TRANSFERS delay
  if (!c[MOVED]) return NO_TRANSFERS delay
  unit = 1024 * seconds
  return transfers_body((c[RB] - b[RB]) / unit, (c[WB] - b[WB]) / unit, (c[CWB] - b[CWB]) / unit) delay
}

function transfers_body(read, written, cancelled) {
  return "\"kb_rd_s\":" decimal(read) ",\"kb_wr_s\":" decimal(written) ",\"kb_ccwr_s\":" decimal(cancelled) ",\"iodelay\":"
}

function faults(c, b, seconds) {
  return faults_body((c[MINFLT] - b[MINFLT]) / seconds, (c[MAJFLT] - b[MAJFLT]) / seconds)
}

function faults_body(minor, major) {
  return "\"minflt_s\":" decimal(minor) ",\"majflt_s\":" decimal(major)
}

function memory_body(vsz, rss) {
  return ",\"vsz\":" vsz ",\"rss\":" rss ",\"percent_mem\":" decimal(100 * rss / TOTAL_MEMORY)
}

function policy_body(priority, policy) {
  return "\"prio\":\"" priority "\",\"policy\":\"" POLICIES[policy + 1] "\""
}

# Most counters rest, and gawk formats a number slowly.
function decimal(number) {
  return number == 0 ? "0.00" : sprintf("%.2f", number)
}

# What a process alone has. CHILD is of the process and all its children that it has waited for.
function append_own(head, tail, c, b) {
  CHILD_CPU_ROWS = CHILD_CPU_ROWS (head (c[MOVED] ? child_times(c, b) : NO_CHILD_TIMES) tail)
  CHILD_FAULT_ROWS = CHILD_FAULT_ROWS (head (c[MOVED] ? child_faults(c, b) : NO_CHILD_FAULTS) tail)
  STACK_ROWS = STACK_ROWS (head c[STACK] tail)
  TABLE_ROWS = TABLE_ROWS (head "\"threads\":\"" c[THREADS] "\",\"fd_nr\":" (c[FDS] < 0 ? "null" : "\"" c[FDS] "\"") tail)
}

function child_times(c, b,    milliseconds, guest) {
  milliseconds = 1000 / HERTZ
  guest = c[GTIME] + c[CGTIME] - b[GTIME] - b[CGTIME]
  return child_times_body((c[UTIME] + c[CUTIME] - b[UTIME] - b[CUTIME] - guest) * milliseconds, \
    (c[STIME] + c[CSTIME] - b[STIME] - b[CSTIME]) * milliseconds, guest * milliseconds)
}

function child_times_body(usr, sys, guest) {
  return "\"usr_ms\":" int(usr) ",\"system_ms\":" int(sys) ",\"guest_ms\":" int(guest)
}

function child_faults(c, b) {
  return child_faults_body(c[MINFLT] + c[CMINFLT] - b[MINFLT] - b[CMINFLT], c[MAJFLT] + c[CMAJFLT] - b[MAJFLT] - b[CMAJFLT])
}

function child_faults_body(minor, major) {
  return "\"minflt_nr\":\"" minor "\",\"majflt_nr\":\"" major "\""
}

# What of the stack is in use stands in smaps alone, which is dear to read.
function stack_body(size) {
  return "\"stksize\":" size ",\"stkref\":null"
}

# The words of a row that name a process, after the time.
function ids_body(uid, pid) {
  return ",\"uid\":" uid (HAS_THREADS ? ",\"tgid\":\"" pid "\",\"tid\":\"-\"" : "") ",\"pid\":" pid ","
}
