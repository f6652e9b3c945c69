#!/usr/bin/env bash
# Every values file applied to a real API server (etcd and kube-apiserver only): defaulting, CEL rules, quantities and
# immutable fields, which schemas do not know.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
# BUILT_ONLY=1: nothing is compiled for it, which takes 11 CPU minutes on a machine that has not done so before.
if [ "${BUILT_ONLY:-}" = 1 ] && [ ! -x "$bin/kubebox" ]; then
  echo "not run: Kubernetes is not compiled on this machine; deploy/kubernetes/check server does that"
  exit 3
fi
[ "$(id -u)" = 0 ] || not_run "an API server in namespaces of its own needs root"
need_go "an API server"
packages iproute2 openssl
"$here/tools/build.sh" "$bin" lint
"$here/tools/build.sh" "$bin" server
export PATH=$bin:$PATH
dir=$(mktemp -d /tmp/muster-server.XXXXXX)
end() {
  local status=$?
  [ $status -eq 0 ] || [ ! -e "$dir/helm.log" ] || cat "$dir/helm.log" >&2
  [ -e "$dir/pid" ] && "$here/cluster/down.sh" "$dir"
  rm -rf "$dir"
  exit $status
}
trap end EXIT
NODE=none "$here/cluster/up.sh" "$dir" "$bin"
k="$here/cluster/in.sh $dir kubectl"
for file in $(crds); do $k apply --server-side -f "$file" >/dev/null; done
$k wait --for=condition=Established crd --all --timeout=30s >/dev/null
$k create namespace muster >/dev/null
for values in "$chart"/ci/*-values.yaml "$chart"/examples/*.yaml; do
  # Without External Secrets: its Go module is not served, and with it no CustomResourceDefinition.
  helm template muster "$chart" --namespace muster --no-hooks -f "$values" |
    awk 'BEGIN { RS = "\n---\n"; ORS = "\n---\n" } !/apiVersion: external-secrets/' >"$dir/rendered.yaml"
  echo "$(basename "$values"): $($k apply -n muster -f "$dir/rendered.yaml" | wc -l) objects taken"
done
# All pods, those of the demo among them.
$k label namespace muster pod-security.kubernetes.io/warn=restricted >/dev/null
suits() { $k -n muster apply --dry-run=server --warnings-as-errors -f "$1" >/dev/null 2>&1; }
helm template muster "$chart" --namespace muster -f "$chart/values-demo.yaml" >"$dir/demo.yaml"
suits "$dir/demo.yaml" || { echo "the demo is refused, or does not suit Pod Security restricted" >&2; exit 1; }
sed 's/allowPrivilegeEscalation: false, //' "$dir/demo.yaml" >"$dir/wrong-demo.yaml"
if suits "$dir/wrong-demo.yaml"; then echo "pods that may gain privileges suit Pod Security restricted" >&2; exit 1; fi
echo "the demo is taken, its pods suit Pod Security restricted"
# A separate release: Secrets are looked up, and an upgrade restores the values after kubectl scaled.
node "$root/deploy/local/prepare.mjs"
(cd "$root" && node deploy/local/dist/command.js keys "$dir/keys" >/dev/null)
"$here/cluster/certificates.sh" "$dir/tls"
$k create namespace release >/dev/null
release() { "$here/cluster/in.sh" "$dir" helm -n release "$1" muster "${@:2}" >"$dir/helm.log" 2>&1; }
install() { release "$1" "$chart" -f "$chart/ci/cluster-values.yaml" "${@:2}"; }
for secrets in keys/secrets.json tls/secrets.yaml; do
  if install install; then echo "helm install without $secrets is not refused" >&2; exit 1; fi
  grep -q 'does not exist in namespace release: make it' "$dir/helm.log" || { cat "$dir/helm.log" >&2; exit 1; }
  $k -n release apply -f "$dir/$secrets" >/dev/null
done
replicas() { $k -n release get deployment "muster-$1" -o 'jsonpath={.spec.replicas}'; }
install install
$k -n release scale deployment -l app.kubernetes.io/name=muster --replicas=0 >/dev/null
install upgrade --set services.tenancy.replicas=3
[ "$(replicas gateway)$(replicas tenancy)" = 23 ] || { echo "helm upgrade leaves what kubectl scaled" >&2; exit 1; }
release rollback 1
[ "$(replicas tenancy)" = 1 ] || { echo "helm rollback leaves the newer values" >&2; exit 1; }
echo "helm install is refused without Secrets; install, upgrade after kubectl scale, rollback"
scale() { $k -n release scale deployment/muster-gateway --replicas="$1" >/dev/null; }
# cluster-values.yaml wants two gateways.
for number in 1 3; do
  scale $number
  if install upgrade; then echo "a conflict on .spec.replicas goes unnoticed: docs/operations/scaling.md describes one" >&2; exit 1; fi
  install upgrade --force-conflicts
  [ "$(replicas gateway)" = 2 ] || { echo "helm upgrade --force-conflicts leaves what kubectl scaled" >&2; exit 1; }
done
install upgrade --set services.gateway.replicas=null
[ "$(replicas gateway)" = 2 ] || { echo "replicas=null changes the number of pods" >&2; exit 1; }
for number in 1 3; do
  scale $number
  install upgrade --set services.gateway.replicas=null
  [ "$(replicas gateway)" = $number ] || { echo "helm upgrade changes what kubectl scaled, with replicas=null" >&2; exit 1; }
done
scaled=services.gateway.autoscaling.enabled=true
install upgrade --set $scaled
[ "$(replicas gateway)" = 3 ] || { echo "turning the autoscaler on changes the number of pods" >&2; exit 1; }
install upgrade --set $scaled,services.webhook-sender.replicas=3
for _ in 1 2; do
  install upgrade --set $scaled,keda.enabled=true,keda.prometheusUrl=http://prometheus:9090,database.maxConnections=400
  [ "$(replicas webhook-sender)" = 3 ] || { echo "turning KEDA on changes the number of pods" >&2; exit 1; }
done
echo "kubectl scale to 1 and 3: taken back by --force-conflicts, kept with replicas=null, by an autoscaler and by KEDA"
# Tools that render without the cluster: the command of scaling.md hands the number over, and without it pods are lost.
$k create namespace gitops >/dev/null
gitops() {
  helm template muster "$chart" --namespace gitops --no-hooks -f "$chart/ci/cluster-values.yaml" "$@" >"$dir/gitops.yaml"
  $k apply -n gitops --server-side --field-manager=gitops -f "$dir/gitops.yaml" >/dev/null
}
gitops --set defaults.replicas=3
handover=$(sed -n '/^kubectl -n muster get deployment muster-gateway/,/^```/p' "$root/docs/operations/scaling.md" | sed '$d')
[ -n "$handover" ] || { echo "scaling.md has no command that hands the number of pods over" >&2; exit 1; }
kubectl() { $k "$@"; }
eval "${handover//-n muster /-n gitops }" >/dev/null
gitops --set services.gateway.autoscaling.enabled=true,services.tenancy.replicas=null
of() { $k -n gitops get deployment "muster-$1" -o 'jsonpath={.spec.replicas}'; }
[ "$(of gateway)" = 2 ] || { echo "a handed over number of pods became $(of gateway)" >&2; exit 1; }
[ "$(of tenancy)" = 1 ] || { echo "a number of pods needs no handing over: scaling.md says otherwise" >&2; exit 1; }
echo "a number of pods is handed over before it leaves the manifests"
helm template muster "$chart" --namespace muster -f "$chart/ci/full-values.yaml" | sed 's/minReplicas: 2/minReplicas: 99/' >"$dir/wrong.yaml"
if $k apply -n muster --dry-run=server -f "$dir/wrong.yaml" >/dev/null 2>&1; then
  echo "an autoscaler whose minimum is above its maximum is taken" >&2
  exit 1
fi
echo "an autoscaler whose minimum is above its maximum is refused"
