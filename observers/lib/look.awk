# One look at all the processes of the pod: who is there, and which of them are observed.
# A process is known by its id and start time together, since ids are used again.

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

function visit(pid,    folder, key) {
  folder = "/proc/" pid
  if (pid == 1 && IS_POD || !read_stat(folder)) return
  # A container that is being made: the runtime's own process, before it becomes the application.
  if (NAME ~ /^runc:\[/) return
  key = pid ":" $20
  KEY[pid] = key
  SEEN[key] = LOOK
  if (is_changed(key)) identify(key, pid)
  if ($1 == "Z" && $18 < 2) ZOMBIE[key] = 1
  else if (is_target_place(PLACE[key])) LIVE_TARGETS++
  if (OBSERVED[key]) measure(key, pid)
}

# Whether a process is new, or executed another program since the last look. Its stack is then elsewhere;
# where the kernel hides that, its kernel name says so, but for one script of an interpreter after another.
function is_changed(key) {
  if (!(key in COMM)) return 1
  if (COMM[key] != NAME || IMAGE[key] != $26) return 1
  return $26 == 0 && is_interpreter(NAME)
}

# What a process is: its container, which it has from its parent, and its program, which changes
# when it executes another.
function identify(key, pid,    parent) {
  IMAGE[key] = $26
  if (key in C) {
    close_chapter(key)
    # It may have become another user's, too.
    C[key][MAY_LIST] = may_list("/proc/" pid "/fd")
  }
  parent = $2 in KEY ? KEY[$2] : ""
  if (!(key in PLACE) || $2 == 0) PLACE[key] = parent in PLACE ? PLACE[parent] : place_of(pid)
  COMM[key] = NAME
  if ($1 != "Z" || !(key in PROGRAM)) PROGRAM[key] = program_of(pid, NAME)
  if (PROGRAM[key] ~ /^(perf|io)-sysstat$/) IS_OBSERVER[PLACE[key]] = 1
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
  for (key in SEEN) if (SEEN[key] != LOOK && key in C) credit_parent(key)
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
    delete ZOMBIE[key]
    if (key + 0 in KEY && KEY[key + 0] == key) delete KEY[key + 0]
  }
}

# The seconds since boot at which a process started.
function start_of(key,    parts) {
  split(key, parts, ":")
  return parts[2] / HERTZ
}
