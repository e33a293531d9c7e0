#!/bin/sh
# program: psql
# does: asks a PostgreSQL server through `net.forward` (as 127.0.0.1) and through `net.sockets`
# version: psql --version
# needs: psql
# server: psql
# net: proxy
# prints: by socket
set -e
psql -X -At -h 127.0.0.1 -p "$PORT" -U job postgres -c "select 'by forward'"
psql -X -At -h "$FOLDER" -p "$PORT" -U job postgres -c "select 'by socket'"
