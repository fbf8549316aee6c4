# The time, and waiting.

# Sets NOW, seconds since boot as processes' start times are, in hundredths as the counters of time are.
function read_clock(    parts) {
  if (split(slurp("/proc/uptime"), parts, " ") < 1) return 0
  NOW = parts[1] + 0
  return 1
}

# The time of day as pidstat prints it and jc reads it: 9:05:07 is 90507.
function time_of_day() {
  return strftime("%H%M%S", systime(), 1) + 0
}

# Waits for some seconds. 0 when the observer is told to end, by the end of file of its input.
function pause(seconds,    nothing) {
  PROCINFO["-", "READ_TIMEOUT"] = seconds > 0.001 ? int(seconds * 1000) : 1
  PROCINFO["-", "RETRY"] = 1
  if (!IS_TOLD) IS_TOLD = (getline nothing < "-") == 0
  return !IS_TOLD
}
