#!/bin/bash
# nats.sh DIR: nats-server with its store in DIR/nats at the node's address, on the node (in.sh); DIR/nats-server is the program.
set -euo pipefail
dir=${1:?usage: nats.sh DIR}
configuration=$(cd "$(dirname "$0")/../../nats" && pwd)/nats-server.conf
set -a
# shellcheck disable=SC1091
source "$dir/keys/nats.env"
NATS_SERVER_NAME=trial NATS_LISTEN_HOST=10.199.0.1 NATS_LISTEN_PORT=4222 NATS_STORE_DIR="\"$dir/nats\""
set +a
# A reload reads certificates that a file names, and refuses those of arguments (deploy/nats/README.md). Paths of
# includes begin at the file that includes.
cat >"$dir/nats.conf" <<N
include "$(realpath --relative-to="$dir" "$configuration")"
tls { cert_file: "$dir/tls/tls.crt", key_file: "$dir/tls/tls.key", ca_file: "$dir/tls/ca.crt", verify: true }
N
exec "$dir/nats-server" -c "$dir/nats.conf" -P "$dir/nats.pid"
