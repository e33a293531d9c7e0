# Reads `go tool test2json` and prints "TEST: reason" for every skipped test.
function field(name,   s) {
  if (!match($0, "\"" name "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
  s = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 5)
  return s
}
/"Action":"output"/ && /[a-z_]\.go:[0-9]+: / { reason[field("Test")] = field("Output") }
/"Action":"skip"/ { t = field("Test"); if (t != "") print t ": " reason[t] }
