# What the summary says: sums by container and program, kept at every look, also at those of which no
# timepoint is printed.

# Adds what a process used since the last time to its program's account: before it executes another, and
# at its end.
function account(key,    who) {
  # What it did as a program that is observed was accounted when it became another.
  if (!OBSERVED[key]) return
  who = PLACE[key] SUBSEP PROGRAM[key]
  if (!(who in SUM)) open_sum(who)
  if (!(key in A)) open_account(key)
  if (A[key]["who"] != who) begin_account(key, who)
  SUM[who]["hidden"] += C[key][IS_HIDDEN] - A[key]["hidden"]
  A[key]["hidden"] = C[key][IS_HIDDEN]
  add_to(who, "cpu", key, C[key][UTIME] + C[key][STIME])
  add_to(who, "rb", key, C[key][RB])
  add_to(who, "wb", key, C[key][WB])
  add_to(who, "cs", key, C[key][VCS] + C[key][ICS])
  if (C[key][HWM] > SUM[who]["hwm"]) SUM[who]["hwm"] = C[key][HWM]
}

# A process is about to be another program, with a memory of its own.
function close_chapter(key) {
  account(key)
  C[key][HWM] = 0
  STATUS_TEXT[key] = UNREAD
}

function open_sum(who) {
  SUM[who]["processes"] = SUM[who]["hidden"] = SUM[who]["cpu"] = SUM[who]["rb"] = SUM[who]["wb"] = SUM[who]["cs"] = 0
  SUM[who]["hwm"] = SUM[who]["rest cpu"] = SUM[who]["rest rb"] = SUM[who]["rest wb"] = 0
}

# Of what was hidden of one program it is not known what the next one did.
function begin_account(key, who) {
  SUM[who]["processes"]++
  SUM[who]["hidden"] += A[key]["hidden"]
  A[key]["hidden"] = 0
  A[key]["who"] = who
}

function open_account(key) {
  A[key]["who"] = ""
  A[key]["hidden"] = A[key]["cpu"] = A[key]["rb"] = A[key]["wb"] = A[key]["cs"] = 0
}

function add_to(who, field, key, now) {
  if (now <= A[key][field]) return
  SUM[who][field] += now - A[key][field]
  A[key][field] = now
}

# A process that is gone was waited for by its parent, whose children's counters have all of it now; where the
# parent is gone too, by whom that one left behind.
function credit_parent(key,    parent, own, field) {
  parent = PARENT[key]
  while (parent in SEEN && SEEN[parent] != LOOK) parent = PARENT[parent]
  if (!(parent in SEEN)) return
  if (!(parent in CREDIT)) open_credit(parent)
  if (!(key in C)) {
    for (field in CREDIT[key]) CREDIT[parent][field] += CREDIT[key][field]
    return
  }
  own = C[key][UTIME] + C[key][STIME]
  credit(key, parent, "cpu", own, own + C[key][CUTIME] + C[key][CSTIME])
  credit(key, parent, "rb", C[key][RB], C[key][WHOLE_RB])
  credit(key, parent, "wb", C[key][WB], C[key][WHOLE_WB])
}

# What it was credited itself may be more than its counters have, which nobody read when it was not observed, or could not.
function credit(key, parent, field, own, whole) {
  own = (own < 0 ? 0 : own) + CREDIT[key][field]
  CREDIT[parent][field] += own > whole ? own : whole
}

function open_credit(key) {
  CREDIT[key]["cpu"] = CREDIT[key]["rb"] = CREDIT[key]["wb"] = 0
}

# What a process's children used and no row shows: those that lived between two looks, and the last
# moments of the others. Children that the process never waited for are in no counter of its.
function unaccounted(key, who) {
  add_rest(who, "rest cpu", C[key][CUTIME] + C[key][CSTIME] - CREDIT[key]["cpu"])
  if (C[key][RB] < 0) return
  add_rest(who, "rest rb", C[key][WHOLE_RB] - C[key][RB] - CREDIT[key]["rb"])
  add_rest(who, "rest wb", C[key][WHOLE_WB] - C[key][WB] - CREDIT[key]["wb"])
}

function add_rest(who, field, rest) {
  if (rest > 0) SUM[who][field] += rest
}

# Closes the account of a process.
function settle(key) {
  account(key)
  unaccounted(key, A[key]["who"])
  delete C[key]
  delete B[key]
  delete A[key]
  delete T[key]
  delete IO[key]
  delete THREAD_BASE[key]
  delete STATUS_TEXT[key]
  delete IO_TEXT[key]
}
