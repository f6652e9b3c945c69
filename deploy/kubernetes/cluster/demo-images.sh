#!/bin/bash
# demo-images.sh OUT CACHE: demo-postgres.tar and demo-nats.tar, in place of the two images that values-demo.yaml names: PostgreSQL of
# the checkout with Debian's psql over OUT/base, begun by demo-postgres.mjs; the pinned nats-server.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=${1:?usage: demo-images.sh OUT CACHE}
cache=${2:?usage: demo-images.sh OUT CACHE}
oci=$root/deploy/image/oci.mjs
stage=$out/stage/demo
rm -rf "$stage"

mkdir -p "$stage"/postgres/{opt,usr/bin,etc,docker-entrypoint-initdb.d} "$stage"/postgres/var/{run,lib}/postgresql
chmod 1777 "$stage"/postgres/var/{run,lib}/postgresql
node --input-type=module -e '
  const [root, to] = process.argv.slice(1);
  (await import(`${root}/deploy/local/dist/postgres-binaries.js`)).copyPostgres(to);' "$root" "$stage/postgres/opt/postgres"
debian=$(dirname "$(ls -d /usr/lib/postgresql/*/bin/psql | tail -n 1)")
cp "$debian/psql" "$debian/pg_isready" "$stage/postgres/usr/bin/"
# initdb and pg_ctl start the server by a shell.
install -D /bin/dash "$stage/postgres/bin/sh"
for program in /bin/dash "$debian"/{psql,pg_isready} "$stage"/postgres/opt/postgres/native/bin/{initdb,postgres}; do
  LD_LIBRARY_PATH=$stage/postgres/opt/postgres/native/lib ldd "$program" | grep -oE ' /(usr/)?lib(64)?/[^ ]*' | while read -r lib; do
    install -D "$(readlink -f "$lib")" "$stage/postgres$lib"
  done
done
printf 'root:x:0:0::/:/sbin/nologin\npostgres:x:999:999::/var/lib/postgresql:/sbin/nologin\n' >"$stage/postgres/etc/passwd"
cp "$here/demo-postgres.mjs" "$stage/postgres/entrypoint.mjs"
node "$oci" localhost/postgres:trial "$out/demo-postgres.tar" \
  '{"Entrypoint":["/usr/bin/node","/entrypoint.mjs"],"User":"999:999","Env":["PATH=/opt/postgres/native/bin:/usr/bin:/bin","LD_LIBRARY_PATH=/opt/postgres/native/lib"]}' \
  "$out/base" "$stage/postgres"

nats=$(cd "$root" && node --input-type=module -e '
  const { natsServer } = await import("./deploy/local/dist/nats-binary.js");
  console.log(await natsServer(process.env.NATS_SERVER_BIN, process.argv[1], (line) => process.stderr.write(`${line}\n`)));' "$cache")
install -D "$(readlink -f "$nats")" "$stage/nats/nats-server"
node "$oci" localhost/nats:trial "$out/demo-nats.tar" '{"Entrypoint":["/nats-server"],"User":"1000:1000"}' "$stage/nats"
