# The counters of an observed process, C[key]: what it has used since it started, in the kernel's units
# (clock ticks, bytes, nanoseconds), and what it holds now (KiB). "" is a counter that cannot be read.
# B[key] is what they were at B[key]["at"], where the next row's interval begins.

BEGIN {
  # Those that grow, and of which a row shows the growth.
  GROWING_COUNT = split("mnf cmnf mjf cmjf ut st cut cst gt cgt vcs ics wait rb wb cwb delay", GROWING, " ")
  # All of them. Each is there from the beginning: gawk 5.2 has been seen to corrupt its memory over elements
  # that came to be by being looked at.
  split("mnf cmnf mjf cmjf ut st cut cst gt cgt vcs ics wait rb wb cwb delay whole_rb whole_wb whole_cwb uid vsz rss stk threads cpu prio policy fds may_list is_hidden", ALL, " ")
}

function measure(key, pid, s,    status, n, tids) {
  status = slurp("/proc/" pid "/status")
  if (status == "") return
  n = s[18] > 1 ? list_numbers("/proc/" pid "/task", tids) : 0
  if (n < 1) {
    n = 1
    tids[1] = pid
  }
  if (!(key in C)) enter(key, pid)
  take_stat(C[key], s)
  take_status(C[key], status)
  sum_threads(key, pid, status, tids, n)
  sum_io(key, pid, s[9] + s[11] > 0, tids, n)
  C[key]["fds"] = count_files("/proc/" pid "/fd", C[key]["may_list"])
  PARENT[key] = s[2] in KEY ? KEY[s[2]] : ""
  if (B[key]["at"] == "") rebase(key)
  SHOWN[++SHOWN_COUNT] = key
}

# A process that started since the last look counts from its start; one that was there before, from now.
function enter(key, pid,    started, i) {
  PROCESSES_TOTAL++
  started = start_of(key)
  for (i in ALL) C[key][ALL[i]] = ""
  C[key]["hwm"] = CREDIT[key]["cpu"] = CREDIT[key]["rb"] = CREDIT[key]["wb"] = 0
  C[key]["may_list"] = may_list("/proc/" pid "/fd")
  B[key]["at"] = ""
  if (!LAST_LOOK || started < LAST_LOOK - 0.02) return
  for (i in GROWING) B[key][GROWING[i]] = 0
  B[key]["at"] = started < NOW ? started : NOW
}

# The next interval of a process begins now.
function rebase(key) {
  keep_counters(C[key], B[key])
}

function keep_counters(from, to,    i, field) {
  for (i = 1; i <= GROWING_COUNT; i++) {
    field = GROWING[i]
    to[field] = from[field]
  }
  to["at"] = NOW
}

function take_stat(c, s) {
  c["mnf"] = s[8]
  c["cmnf"] = s[9]
  c["mjf"] = s[10]
  c["cmjf"] = s[11]
  c["ut"] = s[12]
  c["st"] = s[13]
  c["cut"] = s[14]
  c["cst"] = s[15]
  c["threads"] = s[18]
  c["cpu"] = s[37]
  c["prio"] = s[38]
  c["policy"] = s[39]
  c["delay"] = HAS_DELAYS ? s[40] : ""
  c["gt"] = s[41]
  c["cgt"] = s[42]
}

# A zombie has no memory any more, and its peak stays what it was.
function take_status(c, status,    hwm) {
  c["uid"] = number_after(status, "Uid")
  c["vsz"] = number_after(status, "VmSize")
  c["rss"] = number_after(status, "VmRSS")
  c["stk"] = number_after(status, "VmStk")
  hwm = number_after(status, "VmHWM")
  if (hwm > c["hwm"]) c["hwm"] = hwm
}
