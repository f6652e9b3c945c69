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
exec "$dir/nats-server" -c "$configuration" -P "$dir/nats.pid" \
  --tls --tlscert "$dir/tls/tls.crt" --tlskey "$dir/tls/tls.key" --tlscacert "$dir/tls/ca.crt" --tlsverify
