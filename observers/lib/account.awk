# What the summary says: sums by container and program, kept at every look, also at those of which no
# timepoint is printed.

# Adds what a process used since the last time to its program's account: before it executes another, and
# at its end.
function account(key,    who) {
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
# parent is gone too, by whom that one left behind. Of one that is not observed, others' rows have what it was credited.
function credit_parent(key,    parent) {
  parent = PARENT[key]
  while (parent in SEEN && SEEN[parent] != LOOK) parent = PARENT[parent]
  if (!(parent in SEEN)) return
  if (!(parent in CREDIT)) open_credit(parent)
  CREDIT[parent]["cpu"] += key in C ? C[key][UTIME] + C[key][STIME] + C[key][CUTIME] + C[key][CSTIME] : CREDIT[key]["cpu"]
  CREDIT[parent]["rb"] += key in C ? C[key][WHOLE_RB] : CREDIT[key]["rb"]
  CREDIT[parent]["wb"] += key in C ? C[key][WHOLE_WB] : CREDIT[key]["wb"]
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
