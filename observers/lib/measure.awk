# The counters of an observed process, C[key]: what it has used since it started, in the kernel's units
# (clock ticks, bytes, nanoseconds), and what it holds now (KiB). "" is a counter that cannot be read.
# B[key] is what they were at B[key]["at"], where the next row's interval begins.

BEGIN {
  # Those that grow, and of which a row shows the growth.
  split("mnf cmnf mjf cmjf ut st cut cst gt cgt vcs ics wait rb wb cwb delay", GROWING, " ")
}

function measure(key, pid, s,    status, n, tids) {
  status = slurp("/proc/" pid "/status")
  if (status == "") return
  n = s[18] > 1 ? list_numbers("/proc/" pid "/task", tids) : 0
  if (n < 1) {
    n = 1
    tids[1] = pid
  }
  if (!(key in C)) enter(key)
  take_stat(key, s)
  take_status(key, status)
  sum_threads(key, pid, status, tids, n)
  sum_io(key, pid, s[9] + s[11] > 0, tids, n)
  C[key]["fds"] = count_files(pid)
  PARENT[key] = KEY[s[2]]
  account(key)
  if (B[key]["at"] == "") rebase(key)
  SHOWN[++SHOWN_COUNT] = key
}

# A process that started since the last look counts from its start; one that was there before, from now.
function enter(key,    started, i) {
  started = start_of(key)
  C[key]["hwm"] = 0
  B[key]["at"] = ""
  if (!LAST_LOOK || started < LAST_LOOK - 0.02) return
  for (i in GROWING) B[key][GROWING[i]] = 0
  B[key]["at"] = started < NOW ? started : NOW
}

# The next interval of a process begins now.
function rebase(key,    i) {
  for (i in GROWING) B[key][GROWING[i]] = C[key][GROWING[i]]
  B[key]["at"] = NOW
}

function take_stat(key, s) {
  C[key]["mnf"] = s[8]
  C[key]["cmnf"] = s[9]
  C[key]["mjf"] = s[10]
  C[key]["cmjf"] = s[11]
  C[key]["ut"] = s[12]
  C[key]["st"] = s[13]
  C[key]["cut"] = s[14]
  C[key]["cst"] = s[15]
  C[key]["threads"] = s[18]
  C[key]["cpu"] = s[37]
  C[key]["prio"] = s[38]
  C[key]["policy"] = s[39]
  C[key]["delay"] = HAS_DELAYS ? s[40] : ""
  C[key]["gt"] = s[41]
  C[key]["cgt"] = s[42]
}

# A zombie has no memory any more, and its peak stays what it was.
function take_status(key, status,    hwm) {
  C[key]["uid"] = number_after(status, "Uid")
  C[key]["vsz"] = number_after(status, "VmSize")
  C[key]["rss"] = number_after(status, "VmRSS")
  C[key]["stk"] = number_after(status, "VmStk")
  hwm = number_after(status, "VmHWM")
  if (hwm > C[key]["hwm"]) C[key]["hwm"] = hwm
}
