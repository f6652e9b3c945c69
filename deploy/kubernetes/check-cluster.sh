#!/usr/bin/env bash
# The chart on a real one-node Kubernetes in separate Linux namespaces: our images, PostgreSQL and NATS, then
# cluster/trial.mjs. ONLY=policy,rollout runs only these parts, each of which installs and smokes first; ONLY=images only builds the images.
# KEDA=1 adds part keda. KEEP=1 leaves the cluster up and prints how to enter it; RATE is the load in requests a second, RECORD=1 appends its figures to docs/performance/results, IMAGES a folder
# of images that were built earlier. RELEASE, a release's folder, and EARLIER, that of one before it, try these in place of the checkout
# (cluster/trial-release.mjs).
set -euo pipefail
source "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || not_run "a cluster needs root"
need_go "a cluster"
packages runc containernetworking-plugins iptables nftables iproute2 gcc libc6-dev openssl postgresql-client
"$here/tools/build.sh" "$bin" lint
"$here/tools/build.sh" "$bin" cluster
if [ "${KEDA:-}" = 1 ]; then
  get_prometheus
  "$here/tools/build.sh" "$keda" keda
  keda_crds=$(cd "$here/tools/keda" && go list -m -f '{{.Dir}}' github.com/kedacore/keda/v2)/config/crd/bases
fi
node "$root/deploy/local/prepare.mjs"

here=$here/cluster
only=${ONLY:-}
dir=$(mktemp -d /tmp/muster-cluster.XXXXXX)
end() {
  local status=$?
  if [ $status -ne 0 ] && [ -e "$dir/pid" ]; then
    "$here/in.sh" "$dir" kubectl -n muster get pods -o wide || true
    "$here/in.sh" "$dir" kubectl -n muster get events --sort-by=.lastTimestamp 2>/dev/null | tail -n 25 || true
    mkdir -p "${ARTIFACTS:-/tmp/muster-cluster-logs}" && cp -r "$dir/log" "${ARTIFACTS:-/tmp/muster-cluster-logs}/" 2>/dev/null || true
  fi
  if [ "${KEEP:-}" = 1 ]; then
    echo "kept: $here/in.sh $dir kubectl -n muster get pods; end it with $here/down.sh $dir"
  else
    [ -e "$dir/pid" ] && "$here/down.sh" "$dir"
    rm -rf "$dir"
  fi
  exit $status
}
trap end EXIT
trap 'exit 130' INT TERM

begun=$SECONDS
if [ -n "${RELEASE:-}" ]; then
  images=$dir/archives
  "$here/base-image.sh" "$images" "$bin"
  for folder in "$RELEASE" ${EARLIER:+"$EARLIER"}; do ln -s "$folder"/muster-images-*.tar "$images/"; done
else
  # One set of images per content of what goes into them; a later part takes them from here.
  inputs=(libs services gateway proto package-lock.json deploy/image deploy/kubernetes/cluster/demo-images.sh deploy/kubernetes/cluster/demo-postgres.mjs)
  state=$(cd "$root" && export GIT_INDEX_FILE="$dir/index" && git read-tree HEAD && git add -A "${inputs[@]}" &&
    { git ls-tree "$(git write-tree)" "${inputs[@]}"; node --version; } | sha256sum | cut -c1-12)
  images=${IMAGES:-$cache/images/$state}
fi
if [ -z "${RELEASE:-}" ] && [ ! -e "$images/.done" ]; then
  rm -rf "$cache/images"
  mkdir -p "$images"
  "$here/base-image.sh" "$images" "$bin"
  "$here/images.sh" "$images" trial gateway identity tenancy audit device-logs webhook-dispatcher agent-release
  "$here/demo-images.sh" "$images" "$cache"
  touch "$images/.done"
  echo "images after $((SECONDS - begun)) s"
fi
[ "$only" != images ] || exit 0
ln -s "$images" "$dir/images"
"$here/up.sh" "$dir" "$bin"
(cd "$root" && node deploy/local/dist/command.js keys "$dir/keys" >/dev/null)
"$here/data.sh" "$dir" "$cache"
[ "${KEDA:-}" != 1 ] || "$here/keda.sh" "$dir" "$keda" "$keda_crds"
for _ in $(seq 400); do [ -e "$dir/imported" ] && break; sleep 0.3; done
echo "cluster, PostgreSQL and NATS after $((SECONDS - begun)) s"
if [ -n "${RELEASE:-}" ]; then
  "$here/in.sh" "$dir" node "$here/trial-release.mjs" "$dir" "$RELEASE" ${EARLIER:+"$EARLIER"}
  exit
fi
# shellcheck disable=SC2086
"$here/in.sh" "$dir" node "$here/trial.mjs" "$dir" ${only//,/ }
