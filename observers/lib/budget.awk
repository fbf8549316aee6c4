# The log, and how much of it is left. A kubelet rotates what it writes at 10 MiB, and `kubectl logs` serves the
# newest file alone; so what counts is its file: each line, or 16 KiB of one, after a time stamp, the stream's
# name and a tag (containerd pkg/cri/io/logger.go).

function set_budget(mebibytes) {
  BUDGET = mebibytes * 1048576
  # For the closing marker and the summary.
  RESERVE = 32768
  # Nothing is fatal that happens to the log: the observer stays, and says so on the other stream.
  PROCINFO["NONFATAL"] = 1
}

function emit(line) {
  USED += length(line) + 48 * (1 + int(length(line) / 16384))
  print line
}

# A sentence to people. Between a timepoint's lines there is none, and none of it is a parser's word.
function say(text) {
  gsub(marks(), "...", text)
  emit("ridealong: " printable(text))
}

# Writes out what was emitted: a timepoint whole, or none of it on a disk that is full.
function flush_log() {
  if (fflush("/dev/stdout") == 0 || IS_BROKEN) return
  IS_BROKEN = 1
  print "ridealong: the log cannot be written: " ERRNO > "/dev/stderr"
  fflush("/dev/stderr")
}

# Whether the log has room for a timepoint of about so many bytes.
function has_room(bytes) {
  return !IS_BROKEN && USED + bytes * 1.1 + 4096 < BUDGET - RESERVE
}

# By how much the interval is stretched: not in the first half of the budget, then doubled with each further
# sixteenth of it, so that eight doublings lie between the middle of the log and its end.
function stretch(    part) {
  part = USED / BUDGET
  return part < 0.5 ? 1 : 2 ^ (1 + int((part - 0.5) * 16))
}
