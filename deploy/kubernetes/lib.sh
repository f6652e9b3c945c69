# Sourced by check and its tiers: where tools are, and how they are had.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
chart=$root/charts/muster
# Built once per machine and go.sum: a second check takes them from here.
cache=${MUSTER_KUBERNETES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/muster-kubernetes}/$(cat "$here"/tools/go.sum "$here"/tools/helm-unittest/go.sum "$here"/tools/*/main.go "$here"/crds.txt | sha256sum | cut -c1-12)
bin=$cache/bin
# Apart: most checks do without it, and it is as large as all else together.
keda=${cache%/*}/keda-$(sha256sum "$here/tools/keda/go.sum" | cut -c1-12)

# Ends the tier: under CI a tier that cannot run is a failure, elsewhere it is named and passed over.
not_run() {
  echo "not run: $1"
  [ "${CI:-}" = true ] && exit 1
  exit 3
}

need_go() { command -v go >/dev/null || not_run "$1 (no Go on this machine)"; }

# packages NAME…: Debian packages, where this is Debian and we are root.
packages() {
  local missing=()
  local each
  for each in "$@"; do dpkg -s "$each" >/dev/null 2>&1 || missing+=("$each"); done
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then not_run "needs the packages ${missing[*]}"; fi
  (apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}") >/dev/null 2>&1 || not_run "cannot install ${missing[*]}"
}

# Prints the folder of a Go module.
module() { (cd "$here/tools" && GOFLAGS=-mod=mod go mod download -json "$1") | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# Files of the CustomResourceDefinitions that the chart's objects are of.
crds() {
  local at path
  while read -r at path; do echo "$(module "$at")/$path"; done <"$here/crds.txt"
}

# promtool and prometheus out of Debian's package: installing that would start a Prometheus.
get_prometheus() {
  command -v promtool >/dev/null && command -v prometheus >/dev/null && return 0
  [ -x "$bin/promtool" ] && [ -x "$bin/prometheus" ] && return 0
  command -v apt-get >/dev/null || not_run "needs promtool and prometheus"
  local work
  work=$(mktemp -d)
  (cd "$work" && { apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; } && dpkg -x prometheus_*.deb .) >/dev/null 2>&1 ||
    not_run "needs promtool, and Debian's package prometheus cannot be had"
  mkdir -p "$bin" && cp "$work"/usr/bin/{promtool,prometheus} "$bin/"
  rm -rf "$work"
}
