# What the node's devices did during the whole run, from /proc/diskstats: sectors of 512 bytes, whatever the
# device's own are (kernel Documentation/admin-guide/iostats.rst).

function read_devices(devices,    lines, fields, n, i) {
  n = split(slurp("/proc/diskstats"), lines, "\n")
  for (i = 1; i <= n; i++) {
    if (split(lines[i], fields, " ") < 10) continue
    devices[fields[3]]["read"] = fields[6] * 512
    devices[fields[3]]["written"] = fields[10] * 512
  }
}

# The lines of the summary: the run, then each device that was busy.
function make_summary(lines,    now, name, n, reads, writes) {
  lines[n = 1] = "{\"metric\":\"io-sysstat\"" member("pod", ENVIRON["POD_NAME"]) ",\"devices\":\"node\",\"timepoints\":" TIMEPOINTS + 0 "}"
  read_devices(now)
  for (name in now) {
    if (!(name in FIRST)) continue
    reads = now[name]["read"] - FIRST[name]["read"]
    writes = now[name]["written"] - FIRST[name]["written"]
    if (reads + writes > 0) lines[++n] = "{\"device\":" quote(name) sprintf(",\"bytes_read\":%d,\"bytes_written\":%d}", reads, writes)
  }
  return n
}
