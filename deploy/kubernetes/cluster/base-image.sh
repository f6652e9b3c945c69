#!/bin/bash
# base-image.sh OUT BIN: pause.tar and coredns.tar for the node, and the folder `base`: this machine's Node with its Debian
# libraries, in place of an image from a registry.
set -euo pipefail
oci=$(cd "$(dirname "$0")/../../image" && pwd)/oci.mjs
out=${1:?usage: base-image.sh OUT BIN}
bin=${2:?usage: base-image.sh OUT BIN}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/pause"
cat >"$work/pause.c" <<'C'
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void stop(int s) { _exit(0); }
static void reap(int s) { while (waitpid(-1, NULL, WNOHANG) > 0) ; }
int main(void) { signal(SIGINT, stop); signal(SIGTERM, stop); signal(SIGCHLD, reap); for (;;) pause(); }
C
gcc -Os -static -s -o "$work/pause/pause" "$work/pause.c"
node "$oci" localhost/pause:1 "$out/pause.tar" '{"Entrypoint":["/pause"],"User":"65535:65535"}' "$work/pause"

install -D "$bin/coredns" "$work/coredns/coredns"
node "$oci" localhost/coredns:1 "$out/coredns.tar" '{"Entrypoint":["/coredns"]}' "$work/coredns"

base=$out/base
[ -e "$base" ] && exit 0
mkdir -p "$base"/{bin,usr/bin,etc,tmp,lib64,lib/x86_64-linux-gnu}
chmod 1777 "$base/tmp"
node_path=$(readlink -f "$(command -v node)")
cp "$node_path" "$base/usr/bin/node"
ldd "$node_path" | grep -o '/[^ ]*\.so[^ ]*' | while read -r lib; do install -D "$(readlink -f "$lib")" "$base$lib"; done
for lib in libnss_dns.so.2 libnss_files.so.2 libresolv.so.2; do install -D "/lib/x86_64-linux-gnu/$lib" "$base/lib/x86_64-linux-gnu/$lib"; done
printf 'root:x:0:0::/:/sbin/nologin\nmuster:x:10001:10001::/tmp:/sbin/nologin\n' >"$base/etc/passwd"
echo 'hosts: files dns' >"$base/etc/nsswitch.conf"
