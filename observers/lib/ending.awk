# When and how an observer ends.

BEGIN {
  # An ordinary container starts after the ones before it in the pod. What is not there by now
  # has ended before it was seen, or never started; to wait on would keep a Job from completing.
  PATIENCE = 30
}

# Why to end now, in words; "" to go on.
function reason_to_end() {
  if (COMPLETIONS > 0 && TIMEPOINTS >= COMPLETIONS) return "took the " COMPLETIONS " timepoints that were asked for"
  if (LIVE_TARGETS > 0) HAS_STARTED = 1
  if (TIMEOUT > 0 && !IS_OPEN && NOW - BEGAN >= TIMEOUT) return "no sign of " wanted() " within " TIMEOUT " seconds"
  if (!ENDS_ITSELF || LIVE_TARGETS > 0) return ""
  if (HAS_STARTED) return is_gone() ? "the processes of container " TARGET_CONTAINER " are gone" : ""
  if (NOW - BEGAN < PATIENCE) return ""
  return "no process of container " TARGET_CONTAINER " within " PATIENCE " seconds: it ended before it was seen, or did not start"
}

# A second look: a listing of processes is no snapshot, and one may pass on its work while it is made.
function is_gone() {
  return pause(0.2) && look() && LIVE_TARGETS == 0
}

# The closing marker and the summary, whatever happened. What was not opened is opened first: the parser
# takes everything for a section otherwise.
function finish(reason,    lines, n) {
  if (!IS_OPEN) open_sections("unknown")
  emit("METRICS OPERATOR COLLECTION END")
  flush_log()
  say("ended: " reason)
  n = make_summary(lines)
  print_summary(lines, n)
  exit 0
}
