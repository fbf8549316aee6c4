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

# Whether the last file was there and could not be read.
function is_hidden() {
  return ERRNO ~ /denied|not permitted/
}

# The names in a folder that are numbers, in the kernel's order, into names[1..n]; n, or -1.
function list_numbers(path, names,    entry, parts, n, got) {
  delete names
  while ((got = (getline entry < path)) > 0) {
    split(entry, parts, "/")
    if (parts[2] ~ /^[0-9]+$/) names[++n] = parts[2] + 0
  }
  close(path)
  return got < 0 ? -1 : n + 0
}

# The fields of /proc/PID/stat and of a thread's (proc(5)), by number from 3 on, and the name in "comm",
# which may hold blanks and parentheses. 0 when the process is gone.
function read_stat(folder, stat,    text, at, n, parts) {
  text = slurp(folder "/stat")
  if (text == "") return 0
  at = index(text, ") ")
  if (index(substr(text, at + 1), ")") > 0) at = match(text, /\)[^)]*$/)
  n = split(substr(text, at + 2), stat, " ")
  stat["comm"] = substr(text, index(text, "(") + 1, at - index(text, "(") - 1)
  return n >= 40
}

# A number after a name at the beginning of a line, as in /proc/PID/status; "" without that line.
function number_after(text, name,    at) {
  at = index(text, "\n" name ":")
  return at == 0 ? "" : substr(text, at + length(name) + 2, 24) + 0
}

# The bytes that a process or a thread caused at the storage layer, into io; 0 gone, -1 hidden.
function read_io(folder, io,    text) {
  text = slurp(folder "/io")
  if (text == "") return is_hidden() ? -1 : 0
  io["rb"] = number_after(text, "read_bytes")
  io["wb"] = number_after(text, "write_bytes")
  io["cwb"] = number_after(text, "cancelled_write_bytes")
  return 1
}

# Nanoseconds that a thread waited for a processor; "" where the kernel does not count them.
function read_wait(folder,    parts) {
  return split(slurp(folder "/schedstat"), parts, " ") == 3 ? parts[2] + 0 : ""
}

# How many files a process has open; "" where its folder may not be read. Linux 6.2 and later say it
# as the folder's size, to all: may_list is whether it may be read, and listing a thousand names is dear.
function count_files(path, may_list,    facts, names, n) {
  if (HAS_FOLDER_SIZE) return may_list && stat(path, facts) == 0 ? facts["size"] : ""
  n = list_numbers(path, names)
  return n < 0 ? "" : n
}

function may_list(path,    entry, got) {
  got = (getline entry < path)
  close(path)
  return got >= 0
}

function has_folder_size(    facts) {
  return stat("/proc/self/fd", facts) == 0 && facts["size"] > 0
}
