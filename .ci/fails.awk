# Reads `go tool test2json` and prints what each failed test said, at most 60 lines of each.
function field(name,   s) {
  if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
  s = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
  return s
}
/"Action":"output"/ {
  t = field("Test")
  if (lines[t]++ < 60) said[t] = said[t] field("Output")
}
/"Action":"fail"/ {
  t = field("Test")
  if (t == "") next
  out = said[t]
  gsub(/\\n/, "\n", out); gsub(/\\t/, "  ", out); gsub(/\\"/, "\"", out); gsub(/\\u003c/, "<", out); gsub(/\\u003e/, ">", out); gsub(/\\\\/, "\\", out)
  printf "-- %s\n%s", t, out
}
