#!/bin/sh
# Counts the errors in a tree of logs that it can only read.
set -eu
awk '/error/ { n[FILENAME]++ } END { for (f in n) print f, n[f], "errors" }' app.*.log | sort
if touch here 2>/dev/null; then echo "wrote into the log tree"; exit 1; fi
