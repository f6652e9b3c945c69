#!/bin/bash
# keda.sh DIR KEDA CRDS: KEDA's operator and metrics adapter (programs in folder KEDA) and Prometheus as processes of the node of a
# running up.sh cluster. CRDS is the folder of KEDA's CustomResourceDefinitions. Prometheus scrapes the pods behind Service
# ops of namespace muster (keda.yaml): Debian's cannot ask Kubernetes for them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
usage="usage: keda.sh DIR KEDA CRDS"
dir=$(cd "${1:?$usage}" && pwd)
keda=$(cd "${2:?$usage}" && pwd)
crds=${3:?$usage}
in="$here/in.sh $dir"
mkdir -p "$dir/keda"
cd "$dir/keda"

cp "$dir/pki/ca.crt" ca.crt
openssl ecparam -name prime256v1 -genkey -noout -out tls.key
openssl req -new -key tls.key -subj /CN=keda-operator |
  openssl x509 -req -CA ca.crt -CAkey "$dir/pki/ca.key" -CAserial ca.srl -CAcreateserial -days 30 -out tls.crt -extfile <(
    echo subjectAltName=DNS:keda-operator.keda.svc,DNS:keda-operator.keda.svc.cluster.local,DNS:keda-metrics-apiserver.keda.svc
    echo extendedKeyUsage=serverAuth,clientAuth) 2>/dev/null
cat >prometheus.yaml <<Y
global: { scrape_interval: 2s }
scrape_configs:
  - job_name: muster
    dns_sd_configs: [{ names: [ops.muster.svc.cluster.local], type: A, port: 9090, refresh_interval: 2s }]
    relabel_configs: [{ target_label: namespace, replacement: muster }, { target_label: release, replacement: muster }]
Y
$in kubectl apply --server-side -f "$crds" >/dev/null
$in kubectl apply -f "$here/keda.yaml" >/dev/null

begin() { # begin NAME COMMAND...
  local name=$1; shift
  setsid "$here/in.sh" "$dir" "$@" >"$dir/log/$name.log" 2>&1 </dev/null &
}
export POD_NAMESPACE=keda POD_NAME=keda-operator WATCH_NAMESPACE='' KEDA_CLUSTER_OBJECT_NAMESPACE=keda
begin prometheus prometheus --config.file="$dir/keda/prometheus.yaml" --storage.tsdb.path="$dir/prometheus" --web.listen-address=10.199.0.1:9191
begin keda-operator "$keda/operator" --leader-elect=false --enable-cert-rotation=false --cert-dir="$dir/keda" \
  --metrics-bind-address=:18080 --health-probe-bind-address=:18081
begin keda-adapter "$keda/adapter" --secure-port=6444 --port=18082 --cert-dir="$dir/keda" --tls-cert-file="$dir/keda/tls.crt" \
  --tls-private-key-file="$dir/keda/tls.key" --client-ca-file="$dir/pki/ca.crt" --requestheader-client-ca-file="$dir/pki/ca.crt" \
  --lister-kubeconfig="$dir/pki/admin.kubeconfig" --authentication-kubeconfig="$dir/pki/admin.kubeconfig" \
  --authorization-kubeconfig="$dir/pki/admin.kubeconfig"
for _ in $(seq 180); do
  $in kubectl get --raw /apis/external.metrics.k8s.io/v1beta1 >/dev/null 2>&1 && exit 0
  sleep 0.5
done
echo "KEDA does not answer; see $dir/log/keda-operator.log and keda-adapter.log" >&2
exit 1
