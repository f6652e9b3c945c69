#!/bin/sh
# Stands before each tool of the installer in a test: counts its uses, and kills the installer (MUSTER_INSTALLER) before
# or after the one that KILL_AT names, such as "12 before". Notes each use in KILL_NOTES.
name=${0##*/}
n=$(($(wc -l <"$KILL_NOTES") + 1))
for last; do :; done
echo "$n $name ${last##*/}" >>"$KILL_NOTES"
[ "$KILL_AT" != "$n before" ] || { kill -9 "$MUSTER_INSTALLER" && exit 137; }
PATH=$KILL_PATH "$name" "$@"
code=$?
[ "$KILL_AT" != "$n after" ] || kill -9 "$MUSTER_INSTALLER"
exit $code
