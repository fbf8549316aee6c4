# One document of iostat, over one whole interval.

# Starts iostat, waits as long as it measures, and prints what it says when it is whole. 0 when it is time to end.
function take_document(    seconds, command, pid, text) {
  seconds = RATE * stretch()
  if (seconds < 1) seconds = 1
  command = "echo $$; exec iostat -dxmy -o JSON " int(seconds) " 1 2>&1"
  RS = "\n"
  command |& getline pid
  RS = "\0"
  if (!wait_watching(int(seconds))) {
    # It would go on measuring, and closing it waits for its end.
    system("kill " pid)
    close(command)
    return 0
  }
  command |& getline text
  close(command)
  sub(/\n$/, "", text)
  return print_document(text)
}

function print_document(text) {
  if (text !~ /^\{"sysstat": \{.*"disk": \[.*\]\n\}\}$/) {
    FAULT = text == "" ? "it says nothing" : substr(text, 1, 200)
    return 0
  }
  emit("METRICS OPERATOR TIMEPOINT")
  DOCUMENT_BYTES = emit_lines(text)
  flush_log()
  TIMEPOINTS++
  return 1
}

# Each line of a log has a time stamp before it. The bytes that all of them take.
function emit_lines(text,    lines, n, i, before) {
  before = USED
  n = split(text, lines, "\n")
  for (i = 1; i <= n; i++) emit(lines[i])
  return USED - before
}
