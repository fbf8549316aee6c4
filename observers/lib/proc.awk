# Files of /proc. gawk, since mawk ends the whole program when a read fails, as it does whenever a
# process ends between the opening of its file and the reading, or hides it from another group.
@load "readdir"
@load "filefuncs"

BEGIN {
  RS = "\0"
}

# A whole file, or nothing, where it is gone or hidden: FAILURE has the reason, which closing a file that could not be
# opened makes ERRNO forget.
function slurp(path,    text) {
  if ((getline text < path) <= 0) {
    FAILURE = ERRNO
    text = ""
  }
  close(path)
  return text
}

# Whether the last file that could not be read was there.
function is_hidden() {
  return FAILURE ~ /denied|not permitted/
}

# The names in a folder that are numbers, in the kernel's order, into names[1..n]; n, or -1.
function list_numbers(path, names,    entry, name, n, got) {
  delete names
  while ((got = (getline entry < path)) > 0) {
    name = substr(entry, index(entry, "/") + 1)
    if (name ~ /^[0-9]/) names[++n] = substr(name, 1, index(name, "/") - 1)
  }
  close(path)
  return got < 0 ? -1 : n + 0
}

# Makes fields of the text of /proc/PID/stat, or of a thread's: $1 is the third field of proc(5), and so on, and NAME is
# the second, which may hold blanks and parentheses. 0 where there is none.
function parse_stat(text,    parts, at) {
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

# Makes fields of the text of /proc/PID/status, without the name, which may be any words. A number stands behind its
# label, in $(AT_RSS + 1); a zombie, of which HAS_MEMORY is 0, has none of those of Vm.
function parse_status(text) {
  # gawk makes fields of no more words than it is asked for, and what is asked for stands in the first half.
  $0 = substr(text, index(text, "\n"))
  # One status is like another, but for its groups.
  HAS_MEMORY = $AT_VSZ == "VmSize:" && $AT_HWM == "VmHWM:" && $AT_RSS == "VmRSS:" && $AT_STK == "VmStk:"
  if (!HAS_MEMORY || $AT_UID != "Uid:") find_labels()
}

# Whether a process has memory still, as one whose first thread has ended has not.
function has_memory(pid) {
  return index(slurp("/proc/" pid "/status"), "\nVmRSS:") > 0
}

# Where the lines of the context switches begin, which are the last but for some of the processor's.
function end_of_status(text,    from, at) {
  from = length(text) > 256 ? length(text) - 255 : 1
  at = index(substr(text, from), "\nvoluntary_ctxt_switches:")
  return at ? from + at : index(text, "\nvoluntary_ctxt_switches:") + 1
}

# The last lines of the status of a thread; nothing when it is gone.
function read_switches(folder,    text) {
  text = slurp(folder "/status")
  return text == "" ? "" : substr(text, end_of_status(text))
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

# Makes fields of the text of /proc/PID/io, or of a thread's, the bytes that it caused at the storage layer: $10 were
# read, $12 written and $14 cancelled (fs/proc/base.c, do_io_accounting). 0 where there is none.
function parse_io(text) {
  $0 = text
  return NF >= 14
}

# Nanoseconds that a thread waited for a processor; -1 where the kernel does not count them.
function read_wait(folder,    text, at) {
  text = slurp(folder "/schedstat")
  at = index(text, " ")
  return at ? substr(text, at) + 0 : -1
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
