# io-sysstat: what the node's block devices do, by iostat, as long as the application runs.
# Between the opening and the closing marker the parser bears nothing but whole documents.
@include "json.awk"
@include "budget.awk"
@include "proc.awk"
@include "clock.awk"
@include "options.awk"
@include "container.awk"
@include "program.awk"
@include "look.awk"
@include "metadata.awk"
@include "document.awk"
@include "devices.awk"
@include "summary.awk"
@include "ending.awk"

BEGIN {
  read_options("io-sysstat")
  if (!read_clock()) PROBLEM = "/proc cannot be read"
  if (PROBLEM == "") {
    read_own_place()
    open_sections()
    PROBLEM = sample_all()
  }
  finish(PROBLEM)
}

function wanted() {
  return "a process of container " TARGET_CONTAINER
}

# Samples until there is a reason to end, which it returns.
function sample_all(    reason) {
  BEGAN = NOW
  read_devices(FIRST)
  while ((reason = reason_to_end()) == "") {
    if (!has_room(DOCUMENT_BYTES)) IS_FULL = 1
    if (IS_FULL ? !wait_watching(5) : !take_document()) return why_stopped()
  }
  return reason
}

function why_stopped() {
  if (IS_TOLD) return "told to end"
  return GONE == "" ? "iostat failed: " FAULT : GONE
}

# Waits, and watches for the end of the target where the observer ends with it. 0 when it is time to end.
function wait_watching(seconds,    until) {
  read_clock()
  for (until = NOW + seconds; NOW < until - 0.005; read_clock()) {
    if (!pause(until - NOW < 1 ? until - NOW : 1)) return 0
    if (ENDS_ITSELF && (!look() || (GONE = reason_to_end()) != "")) return 0
  }
  return 1
}

function open_sections() {
  IS_OPEN = 1
  print_metadata("throughput, latency and utilization of the block devices of the node", ",\"devices\":\"node\"")
  emit("METRICS OPERATOR COLLECTION START")
  flush_log()
}
