# The lines of perf-sysstat's summary: the whole, then each program of each container.

function make_summary(lines,    who, order, total, n, i, key) {
  for (key in C) {
    account(key)
    unaccounted(key, A[key]["who"])
  }
  for (who in SUM) {
    order[who] = SUM[who]["cpu"] + 0
    add_total(total, who)
  }
  n = asorti(order, order, "by_value_down")
  lines[1] = "{\"metric\":\"perf-sysstat\"" member("pod", ENVIRON["POD_NAME"]) ",\"timepoints\":" TIMEPOINTS + 0 \
    ",\"processes\":" PROCESSES_TOTAL + 0 sums_json(total) "}"
  for (i = 1; i <= n; i++) lines[i + 1] = program_json(order[i])
  return n + 1
}

function by_value_down(i1, v1, i2, v2) {
  return v1 == v2 ? (i1 < i2 ? -1 : i1 > i2) : (v1 > v2 ? -1 : 1)
}

function add_total(total, who,    field) {
  for (field in SUM[who]) {
    if (field != "hwm") total[field] += SUM[who][field]
    else if (SUM[who][field] > total[field]) total[field] = SUM[who][field]
  }
}

function program_json(who,    parts) {
  split(who, parts, SUBSEP)
  return "{\"program\":" quote(parts[2]) (HAS_NAMES ? member("container", parts[1]) : "") \
    ",\"processes\":" SUM[who]["processes"] + 0 sums_json(SUM[who]) "}"
}

# Peak RSS is that of the largest process; the rest are sums.
function sums_json(sum,    text) {
  text = sprintf(",\"peak_rss_kib\":%d,\"cpu_seconds\":%.2f", sum["hwm"], sum["cpu"] / HERTZ)
  text = text (sum["hidden"] ? ",\"bytes_read\":null,\"bytes_written\":null" : \
    sprintf(",\"bytes_read\":%d,\"bytes_written\":%d", sum["rb"], sum["wb"]))
  text = text sprintf(",\"context_switches\":%d,\"unaccounted_cpu_seconds\":%.2f", sum["cs"], sum["rest cpu"] / HERTZ)
  return text (sum["hidden"] ? ",\"unaccounted_bytes_read\":null,\"unaccounted_bytes_written\":null" : \
    sprintf(",\"unaccounted_bytes_read\":%d,\"unaccounted_bytes_written\":%d", sum["rest rb"], sum["rest wb"]))
}
