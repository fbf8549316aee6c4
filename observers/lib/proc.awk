# Files of /proc. gawk, since mawk ends the whole program when a read fails, as it does whenever a
# process ends between the opening of its file and the reading, or hides it from another group.
@load "readdir"
@load "filefuncs"

BEGIN {
  RS = "\0"
}

# A whole file, or nothing, where it is gone or hidden: ERRNO has the reason.
function slurp(path,    text) {
  if ((getline text < path) <= 0) text = ""
  close(path)
  return text
}

# The words of a whole file as fields; 0 where it is gone or hidden.
function read_fields(path,    got) {
  got = (getline < path)
  close(path)
  return got > 0
}

# Whether the last file was there and could not be read.
function is_hidden() {
  return ERRNO ~ /denied|not permitted/
}

# The names in a folder that are numbers, in the kernel's order, into names[1..n]; n, or -1.
function list_numbers(path, names,    entry, n, got) {
  delete names
  while ((got = (getline entry < path)) > 0) {
    if (match(entry, /\/[0-9]+\//)) names[++n] = substr(entry, RSTART + 1, RLENGTH - 2) + 0
  }
  close(path)
  return got < 0 ? -1 : n + 0
}

# Reads /proc/PID/stat, or a thread's: $1 is the third field of proc(5), and so on, and NAME is the second, which may
# hold blanks and parentheses. 0 when the process is gone.
function read_stat(folder,    text, parts, at) {
  text = slurp(folder "/stat")
  if (text == "") return 0
  if (split(text, parts, ")") > 2) {
    at = match(text, /\)[^)]*$/)
    parts[1] = substr(text, 1, at - 1)
    parts[2] = substr(text, at + 1)
  }
  NAME = substr(parts[1], index(parts[1], "(") + 1)
  $0 = parts[2]
  return NF >= 40
}

# Reads /proc/PID/status, or a thread's: its words are the fields, without the name, which may be any words. A number
# stands behind its label, in $(AT_RSS + 1); a zombie, of which HAS_MEMORY is 0, has none of those of Vm. SWITCHES[2] and
# SWITCHES[4] are the voluntary context switches and the others. 0 when the process is gone.
function read_status(folder,    text) {
  text = slurp(folder "/status")
  if (text == "") return 0
  split(end_of_status(text), SWITCHES, " ")
  # gawk makes fields of no more words than it is asked for, and what is asked for stands in the first half.
  $0 = substr(text, index(text, "\n"))
  # One status is like another, but for its groups.
  HAS_MEMORY = $AT_VSZ == "VmSize:" && $AT_HWM == "VmHWM:" && $AT_RSS == "VmRSS:" && $AT_STK == "VmStk:"
  if (!HAS_MEMORY || $AT_UID != "Uid:") find_labels()
  return 1
}

# The last lines, from the one of voluntary switches on.
function end_of_status(text,    tail, at) {
  tail = substr(text, length(text) - 255)
  at = index(tail, "\nvoluntary_ctxt_switches:")
  return at ? substr(tail, at) : substr(text, index(text, "\nvoluntary_ctxt_switches:"))
}

function find_labels(    at) {
  HAS_MEMORY = 0
  for (at = 1; at < NF; at++) {
    if ($at == "Uid:") AT_UID = at
    else if ($at == "VmSize:") AT_VSZ = at
    else if ($at == "VmHWM:") AT_HWM = at
    else if ($at == "VmRSS:") AT_RSS = at
    else if ($at == "VmStk:") HAS_MEMORY = AT_STK = at
  }
}

# Reads the bytes that a process or a thread caused at the storage layer: of $10 read, $12 written and $14 cancelled
# (fs/proc/base.c, do_io_accounting). 0 gone, -1 hidden.
function read_io(folder) {
  return read_fields(folder "/io") ? 1 : -is_hidden()
}

# Nanoseconds that a thread waited for a processor; -1 where the kernel does not count them.
function read_wait(folder) {
  return read_fields(folder "/schedstat") && NF == 3 ? $2 + 0 : -1
}

# How many files a process has open; -1 where its folder may not be read. Linux 6.2 and later say it
# as the folder's size, to all: may_list is whether it may be read, and listing a thousand names is dear.
function count_files(path, may_list,    facts, names, n) {
  if (HAS_FOLDER_SIZE) return may_list && stat(path, facts) == 0 ? facts["size"] : -1
  n = list_numbers(path, names)
  return n
}

function may_list(path,    entry, got) {
  got = (getline entry < path)
  close(path)
  return got >= 0
}

function has_folder_size(    facts) {
  return stat("/proc/self/fd", facts) == 0 && facts["size"] > 0
}
