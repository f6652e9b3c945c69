#!/bin/bash
# build.sh BIN lint|server|cluster|keda: builds the tools of a tier from the Go modules pinned in go.mod; those that are there already stay.
# Cold: lint 4 CPU minutes, cluster 12 more, KEDA 20 more; with warm caches half a minute.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p "${1:?usage: build.sh BIN lint|server|cluster|keda}"
bin=$(cd "$1" && pwd)
tier=${2:?usage: build.sh BIN lint|server|cluster|keda}
version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
stamp() { echo "-X $1.gitVersion=$version -X $1.gitMajor=$major -X $1.gitMinor=$minor -X $1.gitCommit=none -X $1.gitTreeState=clean -X $1.buildDate=2026-01-01T00:00:00Z"; }
flags="-s -w $(stamp k8s.io/component-base/version) $(stamp k8s.io/client-go/pkg/version)"
export CGO_ENABLED=0
build() { # build PACKAGE…: only those whose program is not there
  local each wanted=() begun=$SECONDS
  for each in "$@"; do [ -x "$bin/$(basename "$each")" ] || wanted+=("$each"); done
  [ ${#wanted[@]} -eq 0 ] && return 0
  go build -trimpath -mod=readonly -tags "no_btrfs no_zfs no_devmapper no_tracing" -ldflags "$flags" -o "$bin/" "${wanted[@]}"
  echo "built in $((SECONDS - begun)) s: ${wanted[*]}"
}
case $tier in
lint)
  build github.com/yannh/kubeconform/cmd/kubeconform
  build helm.sh/helm/v4/cmd/helm
  # A separate Go module: its go.mod replaces another library.
  cd helm-unittest
  build github.com/helm-unittest/helm-unittest/cmd/helm-unittest
  ;;
server) build ./kubebox ;;
cluster)
  containerd=github.com/containerd/containerd/v2/cmd
  build ./kubebox
  build ./coredns $containerd/containerd $containerd/containerd-shim-runc-v2 $containerd/ctr sigs.k8s.io/metrics-server/cmd/metrics-server
  ;;
keda)
  # A separate Go module, too: it needs other versions of Kubernetes' libraries, and clients of all that KEDA can query.
  cd keda
  build github.com/kedacore/keda/v2/cmd/{operator,adapter}
  ;;
*) echo "unknown tier $tier" >&2; exit 2 ;;
esac
