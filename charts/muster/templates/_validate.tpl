{{/* Refuses values that cannot work, and names the cure. */}}
{{- define "muster.validate" -}}
{{- $root := . -}}
{{- if not .Values.publicUrl -}}
{{- fail (cat "publicUrl is empty: set it to the address at which people and agents reach the platform, such as"
  "https://muster.example.com") -}}
{{- end -}}
{{- include "muster.validateDemo" . -}}
{{- if not (or .Values.database.host .Values.demo.enabled) -}}
{{- fail (cat "database.host is empty: set it to the host of a PostgreSQL 15 or newer in which deploy/sql/roles.sql"
  "was run") -}}
{{- end -}}
{{- if not (or .Values.nats.url .Values.demo.enabled) -}}
{{- fail (cat "nats.url is empty: set it to the URL of a NATS with JetStream and deploy/nats/permissions.conf, such as"
  "nats://nats:4222") -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.host is empty: set it to the host name of publicUrl" -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail (cat "httpRoute.parentRefs is empty: name the Gateway that carries the route, such as [{name: public,"
  "namespace: ingress}]") -}}
{{- end -}}
{{- if and .Values.keda.enabled (not .Values.keda.prometheusUrl) -}}
{{- fail (cat "keda.prometheusUrl is empty: set it to the Prometheus that scrapes this release, such as"
  "http://prometheus.monitoring:9090") -}}
{{- end -}}
{{- range $label, $_ := .Values.commonLabels -}}
{{- if has $label (list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component"
  "muster.dev/service") -}}
{{- fail (printf "commonLabels has %s, by which Services and policies select pods: remove it" $label) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.releases.store.bucket .Values.releases.store.claim -}}
{{- fail "releases.store.bucket and releases.store.claim are both set: binaries are kept in one place; remove one" -}}
{{- end -}}
{{- $workloads := include "muster.resolved" . | fromJson -}}
{{- $releases := (index $workloads "agent-release").values -}}
{{- if and (eq (toString $releases.config.BINARY_SOURCE) "local") (not (or .Values.releases.store.bucket
  .Values.releases.store.claim $releases.config.RELEASE_STORE_DIR $releases.config.RELEASE_S3_BUCKET)) -}}
{{- fail (cat "services.agent-release.config.BINARY_SOURCE is local and nothing stores binaries: set"
  "releases.store.bucket or releases.store.claim") -}}
{{- end -}}
{{- include "muster.validateSettings" (dict "root" $root "workloads" $workloads) -}}
{{- include "muster.validateTls" (dict "root" $root "workloads" $workloads) -}}
{{- range $name, $w := $workloads -}}
{{- $names := dict -}}
{{- range $variable := $w.values.extraEnv -}}
{{- if hasKey $names $variable.name -}}
{{- fail (printf "services.%s.extraEnv has %s twice: only the last one would count; remove one" $name
  $variable.name) -}}
{{- end -}}
{{- $_ := set $names $variable.name true -}}
{{- end -}}
{{- end -}}
{{- if and .Values.backup.enabled (not (or .Values.backup.claim .Values.backup.s3.bucket)) -}}
{{- fail (cat "backup.enabled is true and has no target: set backup.claim to a PersistentVolumeClaim, or"
  "backup.s3.bucket") -}}
{{- end -}}
{{- if and .Values.backup.claim .Values.backup.s3.bucket -}}
{{- fail "backup.claim and backup.s3.bucket are both set: backups are kept in one place; remove one" -}}
{{- end -}}
{{- if and .Values.telemetry.metrics (not .Values.telemetry.otlpEndpoint) -}}
{{- fail (cat "telemetry.metrics is true and telemetry.otlpEndpoint is empty: set it to the collector that takes them,"
  "such as http://collector.observability:4317, or let Prometheus scrape the pods") -}}
{{- end -}}
{{- if and .Values.telemetry.headers .Values.telemetry.headersSecret -}}
{{- fail "telemetry.headers and telemetry.headersSecret are both set: give all headers in one of them" -}}
{{- end -}}
{{- $connections := 0 -}}
{{- range $name, $w := $workloads -}}
{{- $scope := dict "root" $root "workload" $w -}}
{{- $most := include "muster.mostReplicas" $scope | int -}}
{{- if and $w.values.autoscaling.enabled (include "muster.scaledByKeda" $scope) -}}
{{- fail (printf (cat "services.%s.autoscaling and keda are both enabled: two autoscalers fight over one deployment;"
  "disable one") $name) -}}
{{- end -}}
{{- if and $w.values.autoscaling.enabled (gt (int $w.values.autoscaling.minReplicas) (int
  $w.values.autoscaling.maxReplicas)) -}}
{{- fail (printf "services.%s.autoscaling: minReplicas is above maxReplicas" $name) -}}
{{- end -}}
{{- range $setting, $cure := dict "ARCHIVE_DIRECTORY" "a bucket (ARCHIVE_S3_BUCKET)" "STREAM_DIRECTORY"
  "a bucket (STREAM_S3_BUCKET)" "CHECKPOINT_DIRECTORY" "a bucket (CHECKPOINT_S3_BUCKET)" "RELEASE_STORE_DIR"
  "releases.store" "RELEASE_DIRECTORY" "releases.source" -}}
{{- if and (hasKey $w.values.config $setting) (gt $most 1) (not $w.values.extraVolumes) -}}
{{- fail (printf (cat "services.%s.config.%s with %d replicas: each pod would have files of its own; use %s, one"
  "replica, or a ReadWriteMany volume in extraVolumes") $name $setting $most $cure) -}}
{{- end -}}
{{- end -}}
{{- $connections = add $connections (mul (include "muster.pool" $w | int) (add1 $most)) -}}
{{- end -}}
{{- $free := sub .Values.database.maxConnections .Values.database.reservedConnections -}}
{{- if gt $connections $free -}}
{{- fail (printf (cat "the pools of all pods may hold %d connections, database.maxConnections (%d) less"
  "reservedConnections (%d) leaves %d: raise max_connections of PostgreSQL and database.maxConnections with it,"
  "put a pooler in front, or lower replicas or config.DATABASE_POOL_MAX") $connections (int
  .Values.database.maxConnections) (int .Values.database.reservedConnections) $free) -}}
{{- end -}}
{{- /*
`lookup` finds nothing where there is no cluster (helm template): only a cluster that shows its namespace is asked.
*/ -}}
{{- if and .Values.secrets.verify (lookup "v1" "Namespace" "" .Release.Namespace) -}}
{{- range $name, $w := $workloads -}}
{{- include "muster.requireSecret" (dict "root" $root "name" (include "muster.secret" (dict "root" $root "workload"
  $w)) "keys" $w.facts.secrets) -}}
{{- if and $w.facts.role (ne $root.Values.migrations.mode "none") (ne $name "audit-retention") -}}
{{- include "muster.requireSecret" (dict "root" $root "name" (printf "%s-%s-owner" $root.Values.secrets.prefix
  $w.facts.service) "keys" (list "DATABASE_PASSWORD")) -}}
{{- end -}}
{{- end -}}
{{- if .Values.demo.enabled -}}
{{- range $name, $keys := dict "demo-postgres" (list "roles.sql" "POSTGRES_PASSWORD") "demo-nats" (list
  "NKEY_GATEWAY") -}}
{{- $secret := printf "%s-%s" $root.Values.secrets.prefix $name -}}
{{- include "muster.requireSecret" (dict "root" $root "name" $secret "keys" $keys) -}}
{{- end -}}
{{- end -}}
{{- if .Values.backup.enabled -}}
{{- $secret := printf "%s-backup" $root.Values.secrets.prefix -}}
{{- include "muster.requireSecret" (dict "root" $root "name" $secret "keys" (list "DATABASE_PASSWORD")) -}}
{{- end -}}
{{- include "muster.requireOwnKeys" $root -}}
{{- include "muster.requireTls" (dict "root" $root "workloads" $workloads) -}}
{{- with .Values.releases.store.claim -}}
{{- $claim := lookup "v1" "PersistentVolumeClaim" $root.Release.Namespace . -}}
{{- if not $claim -}}
{{- fail (printf "PersistentVolumeClaim %s does not exist in namespace %s: make it, or use releases.store.bucket" .
  $root.Release.Namespace) -}}
{{- end -}}
{{- if not (has "ReadWriteMany" $claim.spec.accessModes) -}}
{{- fail (printf (cat "PersistentVolumeClaim %s is not ReadWriteMany: a new pod on another node could not mount it;"
  "use a claim that is, or releases.store.bucket") .) -}}
{{- end -}}
{{- end -}}
{{- if not (lookup "v1" "ConfigMap" .Release.Namespace (printf "%s-callers" .Values.secrets.prefix)) -}}
{{- fail (printf "ConfigMap %s-callers does not exist in namespace %s: make it with `muster cluster keys`"
  .Values.secrets.prefix .Release.Namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "muster.validateDemo" -}}
{{- if .Values.demo.enabled -}}
{{- range $value, $given := dict "database.host" .Values.database.host "nats.url" .Values.nats.url -}}
{{- if $given -}}
{{- fail (printf (cat "demo.enabled brings PostgreSQL and NATS, and %s names others (%s): remove it for a first try,"
  "else demo.enabled") $value $given) -}}
{{- end -}}
{{- end -}}
{{- if or (ne .Values.database.sslMode "disable") (ne (int .Values.nats.streamReplicas) 1) -}}
{{- fail (cat "demo.enabled wants database.sslMode=disable and nats.streamReplicas=1: its servers are single and have"
  "no certificates; install with -f values-demo.yaml") -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "muster.validateTls" -}}
{{- $root := .root -}}
{{- if and $root.Values.tls.nats (not $root.Values.tls.secret) -}}
{{- fail (cat "tls.nats is true and tls.secret is empty: name the Secret whose certificate NATS is shown, or set"
  "tls.nats=false") -}}
{{- end -}}
{{- $ports := list -}}
{{- range $url := splitList "," (include "muster.natsUrl" $root) -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" (trim $url | trimSuffix "/") | trimPrefix ":" | default "4222") -}}
{{- end -}}
{{- $open := list }}{{ range $root.Values.nats.ports }}{{ $open = append $open (int . | toString) }}{{ end -}}
{{- range $port := $ports -}}
{{- if and $root.Values.networkPolicy.enabled (not (has $port $open)) -}}
{{- fail (printf "nats.url names port %s, which NetworkPolicies keep closed: add it to nats.ports" $port) -}}
{{- end -}}
{{- end -}}
{{- range $name, $w := .workloads -}}
{{- if and $w.values.tlsSecret (not $root.Values.tls.secret) -}}
{{- fail (printf (cat "services.%s.tlsSecret is set and tls.secret is empty: TLS between the services is on for all of"
  "them or off; set tls.secret, which the others take") $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
