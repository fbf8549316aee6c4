# JSON on one line, of text that anybody may have written.

# The words that the Metrics Operator's parser looks for anywhere in a line.
function marks() {
  return "METRICS OPERATOR|METADATA|PIDSTAT COMMAND|STATISTICS|POLICY|PAGEFAULTS|UTILIZATION|THREADS|TABLES|SWITCHING"
}

# A JSON string, quotes included. A parser's word in it is written with an escape, which JSON undoes
# and a search in the line does not see.
function quote(original,    text, word, rest, out) {
  if (original in QUOTED) return QUOTED[original]
  text = printable(original)
  gsub(/\\/, "\\\\", text)
  gsub(/"/, "\\\"", text)
  rest = text
  while (match(rest, marks())) {
    word = substr(rest, RSTART, RLENGTH)
    out = out substr(rest, 1, RSTART - 1) sprintf("\\u%04x", CODE[substr(word, 1, 1)]) substr(word, 2)
    rest = substr(rest, RSTART + RLENGTH)
  }
  return QUOTED[original] = "\"" out rest "\""
}

# Replaces with question marks each byte that is not UTF-8, and each character that acts on a terminal or a line:
# U+0001 to U+001F, U+007F to U+009F, the line separators, and Unicode's Bidi_Control.
function printable(text) {
  gsub(/[\x01-\x1f\x7f]/, "?", text)
  if (text !~ /[\x80-\xff]/) return text
  if (!is_utf8(text)) gsub(/[\x80-\xff]/, "?", text)
  gsub(/\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]/, "?", text)
  return text
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
