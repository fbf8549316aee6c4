# Numbers of a row. A counter that cannot be read, now or at the beginning of the interval, is null.

function per_second(now, before, unit, seconds) {
  return now == "" || before == "" ? "null" : sprintf("%.2f", (now - before) / unit / seconds)
}

function share(now, before, unit, seconds) {
  return per_second(now, before, unit / 100, seconds)
}

# The growth as a whole number, a string as jc leaves it.
function count(now, before) {
  return now == "" || before == "" ? "null" : sprintf("\"%d\"", now - before)
}

function value(now) {
  return now == "" ? "null" : now
}

# The milliseconds of a process and its children, without those of a third and fourth counter.
function milliseconds(key, own, children, less, less_children,    ticks) {
  ticks = C[key][own] + C[key][children] - B[key][own] - B[key][children]
  if (less) ticks -= C[key][less] + C[key][less_children] - B[key][less] - B[key][less_children]
  return sprintf("%d", ticks * 1000 / HERTZ)
}
