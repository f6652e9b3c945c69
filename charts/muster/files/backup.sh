#!/usr/bin/env bash
# Dumps all schemas of Muster, as they were at one moment, into BACKUP_DIR/muster-<time>.dump, and keeps the newest
# BACKUP_KEEP of these files. libpq's variables (PGHOST …) name the database and role muster_owner.
set -euo pipefail
umask 077
dir=${BACKUP_DIR:?} keep=${BACKUP_KEEP:?}
file=$dir/muster-$(date -u +%Y-%m-%dT%H%M%SZ).dump
schemas=()
for schema in identity tenancy audit device_logs webhook_dispatcher agent_release; do schemas+=(--schema "$schema"); done
# What a killed run left, and what this one leaves when it fails.
rm -f "$dir"/muster-*.partial
trap 'rm -f "$file.partial"' EXIT
pg_dump --format custom --lock-wait-timeout 60s --file "$file.partial" "${schemas[@]}"
# What pg_restore cannot read is no backup, and replaces none.
pg_restore --list "$file.partial" >/dev/null
mv "$file.partial" "$file"
find "$dir" -maxdepth 1 -name 'muster-*.dump' | sort -r | tail -n "+$((keep + 1))" | xargs -r rm --
echo "backed up to $file, $(stat -c %s "$file") bytes"
