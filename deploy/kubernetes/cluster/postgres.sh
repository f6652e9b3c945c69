#!/bin/bash
# postgres.sh DIR: PostgreSQL on DIR/postgres/data at the node's address, on the node (in.sh).
set -euo pipefail
cd "${1:?usage: postgres.sh DIR}/postgres"
exec setpriv --reuid nobody --regid nogroup --clear-groups env LD_LIBRARY_PATH="$PWD/native/lib" "$PWD/native/bin/postgres" \
  -D "$PWD/data" -h 10.199.0.1 -k "$PWD" -c max_connections=200 -c fsync=off -c log_min_duration_statement=1000 -c log_lock_waits=on -c ssl=on -c ssl_cert_file="$PWD/tls.crt" -c ssl_key_file="$PWD/tls.key"
