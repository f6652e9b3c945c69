{{/*
Environment of a workload's container: what the chart knows, then the service's `config`, then `extraEnv`, which
replaces others of its names.
*/}}
{{- define "muster.environment" -}}
{{- $root := .root -}}{{- $w := .workload -}}{{- $f := $w.facts -}}{{- $v := $w.values -}}
{{- $nodeOptions := printf "--max-old-space-size=%s" (include "muster.heapMiB" $w) -}}
{{- if $f.young }}{{ $nodeOptions = printf "%s --max-semi-space-size=%d" $nodeOptions (int $f.young) }}{{ end -}}
{{- if $root.Values.telemetry.otlpEndpoint -}}
{{- $nodeOptions = printf "--import @muster/kit/telemetry %s" $nodeOptions -}}
{{- end -}}
{{- $env := dict "NODE_ENV" "production" "NODE_OPTIONS" $nodeOptions "LOG_LEVEL" $root.Values.logLevel "OPS_PORT"
  "9090" "DRAIN_GRACE_MS" "15000" -}}
{{- if $f.bus }}{{ $_ := set $env "NATS_URL" (include "muster.natsUrl" $root) }}{{ end -}}
{{- if and $f.bus (ne $w.name "gateway") -}}
{{- $_ := set $env "NATS_STREAM_REPLICAS" $root.Values.nats.streamReplicas -}}
{{- $_ := set $env "CALLER_PUBLIC_KEYS_DIR" "/etc/muster/callers" -}}
{{- $_ := set $env "AUTO_MIGRATE" "false" -}}
{{- end -}}
{{- range $f.calls -}}
{{- $_ := set $env (printf "%s_URL" (. | upper | replace "-" "_")) (printf "%s://%s-%s:8080" (ternary "https" "http"
  (ne $root.Values.tls.secret "")) (include "muster.fullname" $root) .) -}}
{{- end -}}
{{- if and $f.bus $root.Values.tls.secret -}}
{{- range $part, $file := dict "CA" "ca.crt" "CERT" "tls.crt" "KEY" "tls.key" -}}
{{- $_ := set $env (printf "RPC_TLS_%s_PATH" $part) (printf "/etc/muster/tls/%s" $file) -}}
{{- if and $root.Values.tls.nats (ne $part "CA") -}}
{{- $_ := set $env (printf "NATS_TLS_%s_PATH" $part) (printf "/etc/muster/tls/%s" $file) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if has $w.name (list "gateway" "identity") }}{{ $_ := set $env "PUBLIC_URL" $root.Values.publicUrl }}{{ end -}}
{{- if and $root.Values.dashboardUrl (has $w.name (list "gateway" "identity")) -}}
{{- $_ := set $env "DASHBOARD_URL" $root.Values.dashboardUrl -}}
{{- end -}}
{{- if and $root.Values.dashboardUrl (eq $w.name "gateway") -}}
{{- $at := urlParse $root.Values.dashboardUrl -}}
{{- $_ := set $env "CORS_ORIGINS" (printf "%s://%s" $at.scheme $at.host) -}}
{{- end -}}
{{- if eq $w.name "identity" -}}
{{- $_ := set $env "BOOTSTRAP_ADMIN_EMAIL" $root.Values.adminEmail -}}
{{- if $root.Values.hosted }}{{ $_ := set $env "IS_HOSTED" "true" }}{{ end -}}
{{- with $root.Values.sso.dnsServers }}{{ $_ := set $env "SSO_DNS_SERVERS" (join "," .) }}{{ end -}}
{{- end -}}
{{- if eq $f.service "audit" }}{{ $_ := set $env "DEPLOYMENT_NAME" $root.Values.deploymentName }}{{ end -}}
{{- if eq $w.name "agent-release" }}{{ $env = merge (include "muster.releases" $root | fromYaml) $env }}{{ end -}}
{{- if and (eq $w.name "gateway") $v.trustedProxyCidrs -}}
{{- $_ := set $env "TRUST_PROXY_HEADERS" "true" -}}
{{- $_ := set $env "TRUSTED_PROXY_CIDRS" $v.trustedProxyCidrs -}}
{{- end -}}
{{- if $root.Values.caSecret }}{{ $_ := set $env "NODE_EXTRA_CA_CERTS" "/etc/muster/ca/ca.crt" }}{{ end -}}
{{- if $root.Values.telemetry.otlpEndpoint -}}
{{- $_ := set $env "OTEL_EXPORTER_OTLP_ENDPOINT" $root.Values.telemetry.otlpEndpoint -}}
{{- $_ := set $env "OTEL_EXPORTER_OTLP_PROTOCOL" $root.Values.telemetry.protocol -}}
{{- $headers := list -}}
{{- range $name, $value := $root.Values.telemetry.headers -}}
{{- $headers = append $headers (printf "%s=%s" $name (urlquery $value | replace "+" "%20")) -}}
{{- end -}}
{{- with $headers }}{{ $_ := set $env "OTEL_EXPORTER_OTLP_HEADERS" (join "," .) }}{{ end -}}
{{- $_ := set $env "OTEL_TRACES_SAMPLER_ARG" $root.Values.telemetry.sampleRatio -}}
{{- if $root.Values.telemetry.metrics }}{{ $_ := set $env "OTEL_METRICS_EXPORTER" "otlp" }}{{ end -}}
{{- $_ := set $env "OTEL_SERVICE_NAME" (printf "muster-%s" $w.name) -}}
{{- $_ := set $env "OTEL_RESOURCE_ATTRIBUTES" (printf "service.namespace=%s,service.version=%s"
  $root.Release.Namespace ($root.Values.image.tag | default $root.Chart.AppVersion)) -}}
{{- end -}}
{{- range $name, $value := $f.env }}{{ $_ := set $env $name $value }}{{ end -}}
{{- range $name, $value := $v.config }}{{ $_ := set $env $name $value }}{{ end -}}
{{- if $f.role -}}
{{- $setting := ternary "DATABASE_URL_PRUNER" "DATABASE_URL_APP" (eq $w.name "audit-retention") -}}
{{- $_ := set $env $setting (include "muster.databaseUrl" (dict "root" $root "role" $f.role)) -}}
{{- /* Of the Secret's variables; not a part of the URL, in which / # ? % would mean something. */ -}}
{{- $_ := set $env "PGPASSWORD" "$(DATABASE_PASSWORD)" -}}
{{- end -}}
{{- if and (eq $w.name "audit") $root.Values.database.readHost -}}
{{- $standby := dict "root" $root "role" $f.role "host" $root.Values.database.readHost -}}
{{- $_ := set $env "DATABASE_URL_READ" (include "muster.databaseUrl" $standby) -}}
{{- end -}}
{{- range $v.extraEnv }}{{ $_ := unset $env .name }}{{ end -}}
{{- $headersSecret := and $root.Values.telemetry.otlpEndpoint $root.Values.telemetry.headersSecret -}}
{{- range $v.extraEnv }}{{ if eq .name "OTEL_EXPORTER_OTLP_HEADERS" }}{{ $headersSecret = "" }}{{ end }}{{ end -}}
{{- with $headersSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef: { name: {{ . }}, key: OTEL_EXPORTER_OTLP_HEADERS }
{{- end }}
{{- range $name, $value := $env }}
- name: {{ $name }}
  value: {{ include "muster.plain" $value | quote }}
{{- end }}
{{- with $v.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Settings of agent-release that follow from `releases`. */}}
{{- define "muster.releases" -}}
{{- $r := .Values.releases -}}
{{- $env := dict -}}
{{- with $r.source }}{{ $_ := set $env "RELEASE_SOURCE" . }}{{ end -}}
{{- with $r.manifestKeys }}{{ $_ := set $env "RELEASE_MANIFEST_KEYS" (join "," .) }}{{ end -}}
{{- if $r.allowUnsigned }}{{ $_ := set $env "ALLOW_UNSIGNED_RELEASES" "true" }}{{ end -}}
{{- with $r.store.bucket -}}
{{- $_ := set $env "BINARY_SOURCE" "local" -}}
{{- $_ := set $env "RELEASE_S3_BUCKET" . -}}
{{- $_ := set $env "RELEASE_S3_REGION" $r.store.region -}}
{{- $_ := set $env "RELEASE_S3_PATH_STYLE" ($r.store.pathStyle | toString) -}}
{{- $_ := set $env "RELEASE_S3_PROXY" ($r.store.proxy | toString) -}}
{{- with $r.store.endpoint }}{{ $_ := set $env "RELEASE_S3_ENDPOINT" . }}{{ end -}}
{{- end -}}
{{- with $r.store.claim -}}
{{- $_ := set $env "BINARY_SOURCE" "local" -}}
{{- $_ := set $env "RELEASE_STORE_DIR" "/var/lib/muster/releases" -}}
{{- end -}}
{{- $env | toYaml -}}
{{- end -}}
