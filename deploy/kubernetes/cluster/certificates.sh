#!/bin/bash
# certificates.sh DIR: an authority and one certificate for PostgreSQL, NATS and all services (DIR/{ca,tls}.{crt,key}), and the
# Secrets that the chart's caSecret and tls.secret name (DIR/secrets.yaml). cert-manager makes the same of a Certificate. Run
# again, it renews the certificate under the same authority.
set -euo pipefail
mkdir -p "${1:?usage: certificates.sh DIR}"
cd "$1"
key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1.key"; }
if [ ! -e ca.crt ]; then
  key ca
  openssl req -x509 -new -key ca.key -days 30 -subj /CN=trial-ca -out ca.crt
fi
key tls
names=DNS:postgres.data,DNS:postgres-ro.data,DNS:nats.data
for service in gateway identity tenancy audit device-logs webhook-dispatcher agent-release; do names+=,DNS:muster-$service; done
openssl req -new -key tls.key -subj /CN=muster |
  openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out tls.crt \
    -extfile <(echo "subjectAltName=$names"; echo "extendedKeyUsage=serverAuth,clientAuth") 2>/dev/null
b() { base64 -w0 <"$1"; }
cat >secrets.yaml <<Y
apiVersion: v1
kind: Secret
metadata: { name: muster-ca }
data: { ca.crt: $(b ca.crt) }
---
apiVersion: v1
kind: Secret
metadata: { name: muster-tls }
type: kubernetes.io/tls
data: { ca.crt: $(b ca.crt), tls.crt: $(b tls.crt), tls.key: $(b tls.key) }
Y
