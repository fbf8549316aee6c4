# JSON on one line, of text that anybody may have written.

# The words that the Metrics Operator's parser looks for anywhere in a line.
function marks() {
  return "METRICS OPERATOR|METADATA|PIDSTAT COMMAND|STATISTICS|POLICY|PAGEFAULTS|UTILIZATION|THREADS|TABLES|SWITCHING"
}

# A JSON string, quotes included. A parser's word in it is written with an escape, which JSON undoes
# and a search in the line does not see; what is not UTF-8 becomes question marks.
function quote(text,    word, rest, out) {
  if (text in QUOTED) return QUOTED[text]
  if (!is_utf8(text)) gsub(/[\x80-\xff]/, "?", text)
  gsub(/\\/, "\\\\", text)
  gsub(/"/, "\\\"", text)
  gsub(/[\x01-\x1f\x7f]/, "?", text)
  rest = text
  while (match(rest, marks())) {
    word = substr(rest, RSTART, RLENGTH)
    out = out substr(rest, 1, RSTART - 1) sprintf("\\u%04x", CODE[substr(word, 1, 1)]) substr(word, 2)
    rest = substr(rest, RSTART + RLENGTH)
  }
  return QUOTED[text] = "\"" out rest "\""
}

function is_utf8(text) {
  return text ~ /^([\x01-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf][\x80-\xbf]|[\xf1-\xf3][\x80-\xbf][\x80-\xbf][\x80-\xbf]|\xf4[\x80-\x8f][\x80-\xbf][\x80-\xbf])*$/
}

# A member of an object, with the comma before it; nothing when there is no value.
function member(key, text) {
  return text == "" ? "" : ",\"" key "\":" quote(text)
}

BEGIN {
  for (code = 65; code <= 90; code++) CODE[sprintf("%c", code)] = code
}
