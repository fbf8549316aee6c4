# The bytes that a process itself read and wrote at the storage layer.
# The kernel adds those of each child that a process waits for to its own (kernel/exit.c,
# wait_task_zombie), so that /proc/PID/io blames a launcher for all that it launched. A thread's own file
# has no children in it.

function sum_io(key, pid, s, tids, n,    whole) {
  if (C[key]["io"] == "hidden" && C[key]["uid"] == C[key]["io uid"]) return
  C[key]["io"] = read_io("/proc/" pid, whole)
  if (C[key]["io"] < 0) hide_io(key)
  if (C[key]["io"] != 1) return
  # Whoever waited for a child has some of its faults: each program has at least one.
  if (s[9] + s[11] == 0) take_io(key, whole, whole)
  else take_io(key, io_of_threads(key, pid, tids, n), whole)
}

function hide_io(key) {
  C[key]["io"] = "hidden"
  C[key]["io uid"] = C[key]["uid"]
  C[key]["rb"] = C[key]["wb"] = C[key]["cwb"] = ""
}
