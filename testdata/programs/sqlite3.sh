#!/bin/sh
# program: sqlite3
# does: writes in WAL mode and makes a copy with `vacuum into`
# version: sqlite3 --version
# needs: sqlite3
# prints: 42
set -e
sqlite3 t.db 'pragma journal_mode=wal; create table t(a); insert into t values(42);' >mode
sqlite3 t.db "vacuum into 'copy.db'"
sqlite3 copy.db 'select a from t'
