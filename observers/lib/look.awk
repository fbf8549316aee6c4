# One look at all the processes of the pod: who is there, and which of them are observed.
# A process is known by a number of ours, its key, since the kernel uses an id again for one that started later.

function look(    n, i, pids) {
  if (!read_clock()) return 0
  LOOK++
  LIVE_TARGETS = SHOWN_COUNT = 0
  n = list_numbers("/proc", pids)
  for (i = 1; i <= n; i++) {
    if (i % 64 == 0 && !pause(0)) return 0
    visit(pids[i])
  }
  bury()
  LAST_LOOK = NOW
  return n > 0
}

function visit(pid,    text, key) {
  if (pid == 1 && IS_POD) return
  text = slurp("/proc/" pid "/stat")
  if (!(pid in KEY && is_unchanged(KEY[pid], text)) && !take(pid, text)) return
  key = KEY[pid]
  SEEN[key] = LOOK
  PARENT[key] = PARENT_PID[key] in KEY ? KEY[PARENT_PID[key]] : ""
  if (!(key in ZOMBIE) && is_target_place(PLACE[key])) LIVE_TARGETS++
  if (OBSERVED[key]) measure(key, pid)
}

# Whether a process's stat is the one that was taken last but for the processor, which is taken here. Then so is all that
# was taken of it: no program begins without page faults, which are counted there.
function is_unchanged(key, text,    rest, at) {
  if (!(key in STAT_BEFORE) || index(text, STAT_BEFORE[key]) != 1) return 0
  rest = substr(text, length(STAT_BEFORE[key]) + 1)
  at = index(rest, " ")
  if (substr(rest, at) != STAT_AFTER[key]) return 0
  if (OBSERVED[key]) C[key][PROCESSOR] = substr(rest, 1, at - 1)
  return 1
}

# Takes a process's stat; 0 where there is none.
function take(pid, text,    key) {
  # A container that is being made: the runtime's own process, before it becomes the application.
  if (!parse_stat(text) || NAME ~ /^runc:\[/) return 0
  if (!(pid in KEY && START[KEY[pid]] == $20)) meet(pid)
  key = KEY[pid]
  PARENT_PID[key] = $2
  if (is_replaced(key)) identify(key, pid)
  if ($1 == "Z" && $18 < 2) ZOMBIE[key] = 1
  if (OBSERVED[key]) count(key, pid)
  keep_text(key, text)
  return 1
}

# Gives a process its key.
function meet(pid) {
  KEY[pid] = ++LAST_KEY
  PID[LAST_KEY] = pid
  START[LAST_KEY] = $20
}

# Keeps the text of the stat that was taken, before and after the processor.
function keep_text(key, text,    i, at) {
  at = length(text) - length($0) + 1
  for (i = 1; i < 37; i++) at += length($i) + 1
  STAT_BEFORE[key] = substr(text, 1, at)
  STAT_AFTER[key] = substr(text, at + length($37) + 1)
}

# Whether a process is new, or executed another program since its stat was taken. Its stack is then elsewhere;
# where the kernel hides that, its kernel name says so, but for one script of an interpreter after another.
function is_replaced(key) {
  if (!(key in COMM)) return 1
  if (COMM[key] != NAME || IMAGE[key] != $26) return 1
  return $26 == 0 && is_interpreter(NAME)
}

# What a process is: its container, which it has from its parent, and its program, which changes
# when it executes another.
function identify(key, pid,    parent, place) {
  IMAGE[key] = $26
  if (key in C) {
    close_chapter(key)
    # It may have become another user's, too.
    C[key][MAY_LIST] = may_list("/proc/" pid "/fd")
  }
  parent = $2 in KEY ? KEY[$2] : ""
  place = parent in PLACE ? PLACE[parent] : !(key in PLACE) || $2 == 0 ? place_of(pid) : ""
  # The mounts of a process cannot be read any more when its first thread has ended.
  if (!(key in PLACE) || $2 == 0 && place != "") PLACE[key] = place
  COMM[key] = NAME
  if ($1 != "Z" || !(key in PROGRAM)) PROGRAM[key] = program_of(pid, NAME)
  mark_observer(PLACE[key], PROGRAM[key], $2)
  OBSERVED[key] = is_wanted(PLACE[key], PROGRAM[key])
  if (OBSERVED[key]) TAIL[key] = tail_of(key, COMM[key])
}

# Whether the processes of this program, in this container, are observed. With a target-command those
# of the whole pod that match; an observer never.
function is_wanted(place, program) {
  if (METRIC != "perf-sysstat" || place == "" || place in IS_OBSERVER) return 0
  if (TARGET_COMMAND == "") return is_target_place(place)
  if (!(program in MATCHES)) MATCHES[program] = program ~ TARGET_COMMAND
  return MATCHES[program]
}

# Forgets the processes that are gone; what is known of them goes to their parents' account first.
function bury(    key) {
  for (key in SEEN) if (SEEN[key] != LOOK && key in CREDIT) credit_parent(key)
  for (key in SEEN) {
    if (SEEN[key] == LOOK) continue
    if (key in C) settle(key)
    delete SEEN[key]
    delete COMM[key]
    delete IMAGE[key]
    delete PLACE[key]
    delete PROGRAM[key]
    delete OBSERVED[key]
    delete TAIL[key]
    delete STAT_BEFORE[key]
    delete STAT_AFTER[key]
    delete ZOMBIE[key]
    if (PID[key] in KEY && KEY[PID[key]] == key) delete KEY[PID[key]]
    delete PID[key]
    delete START[key]
    delete PARENT[key]
    delete PARENT_PID[key]
    delete CREDIT[key]
  }
}
