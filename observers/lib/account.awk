# What the summary says: sums by container and program, kept at every look, also at those of which no
# timepoint is printed.

# Adds what a process used since the last look to its program's account.
function account(key,    who) {
  who = PLACE[key] SUBSEP PROGRAM[key]
  if (!(key in A)) PROCESSES_TOTAL++
  if (A[key]["who"] != who) SUM[who]["processes"]++
  A[key]["who"] = who
  add_to(who, "cpu", key, C[key]["ut"] + C[key]["st"])
  add_to(who, "rb", key, C[key]["rb"])
  add_to(who, "wb", key, C[key]["wb"])
  add_to(who, "cs", key, C[key]["vcs"] + C[key]["ics"])
  if (C[key]["hwm"] > SUM[who]["hwm"]) SUM[who]["hwm"] = C[key]["hwm"]
}

function add_to(who, field, key, now) {
  if (now == "") SUM[who]["hidden"] = 1
  else SUM[who][field] += now - A[key][field]
  A[key][field] = now
}

# A process that is gone was waited for by its parent, whose children's counters have all of it now.
function credit_parent(key,    parent) {
  parent = PARENT[key]
  if (!(parent in C)) return
  CREDIT[parent]["cpu"] += C[key]["ut"] + C[key]["st"] + C[key]["cut"] + C[key]["cst"]
  CREDIT[parent]["rb"] += C[key]["whole rb"]
  CREDIT[parent]["wb"] += C[key]["whole wb"]
}

# What a process's children used and no row shows: those that lived between two looks, and the last
# moments of the others. Children that the process never waited for are in no counter of its.
function unaccounted(key, who) {
  add_rest(who, "rest cpu", C[key]["cut"] + C[key]["cst"] - CREDIT[key]["cpu"])
  if (C[key]["rb"] == "") return
  add_rest(who, "rest rb", C[key]["whole rb"] - C[key]["rb"] - CREDIT[key]["rb"])
  add_rest(who, "rest wb", C[key]["whole wb"] - C[key]["wb"] - CREDIT[key]["wb"])
}

function add_rest(who, field, rest) {
  if (rest > 0) SUM[who][field] += rest
}

# Closes the account of a process.
function settle(key) {
  unaccounted(key, A[key]["who"])
  delete C[key]
  delete B[key]
  delete A[key]
  delete T[key]
  delete IO[key]
  delete CREDIT[key]
  delete PARENT[key]
  delete THREAD_BASE[key]
}
