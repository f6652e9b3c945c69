#!/bin/bash
# data.sh DIR CACHE: PostgreSQL and nats-server as processes of the node (10.199.0.1) of a running up.sh cluster, with the roles and
# users of DIR/keys (`muster cluster keys`); postgres.data and nats.data for its pods, both by TLS alone, which NATS verifies on both
# sides (DIR/tls, certificates.sh).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
dir=$(cd "${1:?usage: data.sh DIR CACHE}" && pwd)
cache=${2:?usage: data.sh DIR CACHE}
in="$here/in.sh $dir"
listens() { # listens PORT LOG
  for _ in $(seq 100); do $in bash -c "exec 3<>/dev/tcp/10.199.0.1/$1" 2>/dev/null && return; sleep 0.2; done
  echo "nothing listens at $1; see $dir/log/$2" >&2
  exit 1
}

"$here/certificates.sh" "$dir/tls"
$in kubectl apply -f "$here/data.yaml" >/dev/null

# PostgreSQL refuses to run as root; user nobody needs access to its files.
node --input-type=module -e '
  const [root, to] = process.argv.slice(1);
  (await import(`${root}/deploy/local/dist/postgres-binaries.js`)).copyPostgres(to);' "$root" "$dir/postgres"
cp "$dir"/tls/tls.{crt,key} "$dir/postgres/"
chmod 600 "$dir/postgres/tls.key"
chown -R nobody "$dir/postgres"
chmod 711 "$dir"
$in setpriv --reuid nobody --regid nogroup --clear-groups env -C / LD_LIBRARY_PATH="$dir/postgres/native/lib" \
  "$dir/postgres/native/bin/initdb" -D "$dir/postgres/data" -U postgres --auth=trust -E UTF8 --locale=C >"$dir/log/initdb.log"
cat >>"$dir/postgres/data/pg_hba.conf" <<'H'
host all postgres 10.199.0.1/32 trust
hostssl all all 0.0.0.0/0 scram-sha-256
H
setsid "$here/in.sh" "$dir" "$here/postgres.sh" "$dir" >"$dir/log/postgres.log" 2>&1 </dev/null &
listens 5432 postgres.log
$in node --input-type=module -e '
  const [root, keys] = process.argv.slice(1);
  const { prepareDatabase } = await import(`${root}/deploy/local/dist/prepare-database.js`);
  const { readFileSync } = await import("node:fs");
  await prepareDatabase("postgres://postgres@10.199.0.1:5432/postgres", JSON.parse(readFileSync(`${keys}/keys.json`)));' "$root" "$dir/keys"

nats=$(cd "$root" && node --input-type=module -e '
  const { natsServer } = await import("./deploy/local/dist/nats-binary.js");
  console.log(await natsServer(process.env.NATS_SERVER_BIN, process.argv[1], (line) => process.stderr.write(`${line}\n`)));' "$cache")
ln -s "$nats" "$dir/nats-server"
setsid "$here/in.sh" "$dir" "$here/nats.sh" "$dir" >"$dir/log/nats.log" 2>&1 </dev/null &
listens 4222 nats.log
