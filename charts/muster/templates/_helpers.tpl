{{- define "muster.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/*
The name of an object in at most `limit` characters: fullname and `suffix`; of a longer fullname its beginning and a
hash of all of it.
*/}}
{{- define "muster.shortName" -}}
{{- $full := include "muster.fullname" .root -}}
{{- $room := sub .limit (len .suffix) | int -}}
{{- if gt (len $full) $room -}}
{{- $start := $full | trunc (sub $room 9 | int) | trimSuffix "-" -}}
{{- $full = printf "%s-%s" $start (sha256sum $full | trunc 8) -}}
{{- end -}}
{{- $full }}{{ .suffix }}
{{- end -}}

{{/*
Labels of an object or pod: the standard ones over commonLabels. `workload` is the one that it belongs to, if any;
`component` another name than the workload's, for what no Service or policy of the workload selects.
*/}}
{{- define "muster.labels" -}}
{{- $w := .workload | default dict -}}
{{- $own := dict "app.kubernetes.io/name" "muster" "app.kubernetes.io/instance" .root.Release.Name -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "muster" -}}
{{- with .component | default $w.name }}{{ $_ := set $own "app.kubernetes.io/component" . }}{{ end -}}
{{- $_ := set $own "app.kubernetes.io/version" (include "muster.tag" . | trunc 63 | trimAll "-._") -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc
  63) -}}
{{- mergeOverwrite (deepCopy .root.Values.commonLabels) $own | toYaml -}}
{{- end -}}

{{/*
`metadata` of an object called `name`: its labels as above and further `labels`; its `annotations` over
commonAnnotations.
*/}}
{{- define "muster.metadata" -}}
name: {{ .name }}
labels:
  {{- mergeOverwrite (include "muster.labels" . | fromYaml) (.labels | default dict) | toYaml | nindent 2 }}
{{- with mergeOverwrite (deepCopy .root.Values.commonAnnotations) (.annotations | default dict) }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "muster.selector" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .workload.name }}
{{- end -}}

{{/* Pods that serve one RPC contract: matcher and sender are both the webhook dispatcher. */}}
{{- define "muster.serves" -}}
app.kubernetes.io/name: muster
app.kubernetes.io/instance: {{ .root.Release.Name }}
muster.dev/service: {{ .service }}
{{- end -}}

{{/* The tag of a workload's image: its own, the chart-wide one, else the version that this chart was made for. */}}
{{- define "muster.tag" -}}
{{- dig "values" "image" "tag" "" (.workload | default dict) | default .root.Values.image.tag
  | default .root.Chart.AppVersion -}}
{{- end -}}

{{/* By its own digest or tag, by the chart-wide tag, or by the digest that the chart was released with. */}}
{{- define "muster.image" -}}
{{- $own := .workload.values.image -}}
{{- $all := .root.Values.image -}}
{{- $digest := $own.digest -}}
{{- if not (or $digest $own.repository $own.tag $all.tag) -}}
{{- $digest = get $all.digests .workload.facts.service -}}
{{- end -}}
{{ $own.repository | default (printf "%s/%s" $all.registry .workload.facts.service) }}
{{- if $digest }}@{{ $digest }}{{ else }}:{{ include "muster.tag" . }}{{ end -}}
{{- end -}}

{{- define "muster.secret" -}}
{{- $usual := printf "%s-%s" .root.Values.secrets.prefix (include "muster.secretOwner" .workload) -}}
{{ .workload.values.existingSecret | default $usual }}
{{- end -}}

{{/* Matcher and sender are one service and share one Secret; the retention worker has its own role and Secret. */}}
{{- define "muster.secretOwner" -}}
{{- if hasPrefix "webhook-" .name -}}webhook-dispatcher{{- else -}}{{ .name }}{{- end -}}
{{- end -}}

{{- define "muster.databaseHost" -}}
{{ ternary (include "muster.demoHost" .) .Values.database.host .Values.demo.enabled }}
{{- end -}}

{{/* Of the primary, or of another `host` and `port`. */}}
{{- define "muster.databaseUrl" -}}
{{- $db := .root.Values.database -}}
{{- $host := .host | default (include "muster.databaseHost" .root) -}}
postgres://{{ .role }}@{{ $host }}:{{ .port | default $db.port }}/{{ $db.name }}
{{- if ne $db.sslMode "disable" }}?sslmode={{ $db.sslMode }}{{ end }}
{{- end -}}

{{/* Heap in MiB: three quarters of the memory limit without the memory outside of the heap. */}}
{{- define "muster.heapMiB" -}}
{{- $limit := .values.resources.limits.memory | toString -}}
{{- $mib := 0 -}}
{{- if hasSuffix "Gi" $limit }}{{ $mib = mulf (trimSuffix "Gi" $limit | float64) 1024 | int -}}
{{- else if hasSuffix "Mi" $limit }}{{ $mib = trimSuffix "Mi" $limit | float64 | int -}}
{{- else -}}
{{- fail (printf "services.%s.resources.limits.memory is %q: give it in Mi or Gi, the heap's size follows from it"
  .name $limit) -}}
{{- end -}}
{{- $native := include "muster.nativeMiB" . | int -}}
{{- $heap := mulf (sub $mib $native) 0.75 | int -}}
{{- if lt $heap 96 -}}
{{- fail (printf (cat "services.%s.resources.limits.memory is %s: %d MiB of it are needed outside of the heap, which"
  "leaves %d MiB for the heap; give it %d Mi or more") .name $limit $native $heap (add $native 128)) -}}
{{- end -}}
{{- $heap -}}
{{- end -}}

{{/*
MiB outside of the heap's old generation: V8's young one, identity's password hashes (scrypt takes 1 KiB ×
2^PASSWORD_SCRYPT_LOG_N each), and the workload's own `native`.
*/}}
{{- define "muster.nativeMiB" -}}
{{- $mib := 0 -}}
{{- if eq .name "identity" -}}
{{- $logN := index .values.config "PASSWORD_SCRYPT_LOG_N" | default 17 | int -}}
{{- $mib = 1 -}}
{{- range until (sub $logN 10 | int) }}{{ $mib = mul $mib 2 }}{{ end -}}
{{- $mib = mul $mib (index .values.config "PASSWORD_CONCURRENCY" | default .facts.env.PASSWORD_CONCURRENCY | int) -}}
{{- end -}}
{{- add $mib (mul 3 (.facts.young | default 0 | int)) (.facts.native | default 0 | int) -}}
{{- end -}}

{{/* Annotation for Reloader: the Secrets that pods read at their start, after whose change it restarts them. */}}
{{- define "muster.reloader" -}}
{{- if .root.Values.reloader.enabled -}}
{{- $telemetry := .root.Values.telemetry -}}
{{- $headers := ternary $telemetry.headersSecret "" (ne $telemetry.otlpEndpoint "") -}}
{{- $secrets := compact (list (include "muster.secret" .) .root.Values.caSecret $headers) -}}
secret.reloader.stakater.com/reload: {{ join "," $secrets }}
{{- end -}}
{{- end -}}

{{/* A trigger of a ScaledObject: `query` over series of this release, `threshold` per pod. */}}
{{- define "muster.kedaTrigger" -}}
{{- $keda := .root.Values.keda -}}
{{- $here := printf "namespace=%q,release=%q" .root.Release.Namespace .root.Release.Name -}}
- type: prometheus
  {{- with $keda.authenticationRef }}
  authenticationRef: {{- toYaml . | nindent 4 }}
  {{- end }}
  metadata:
    serverAddress: {{ $keda.prometheusUrl }}
    {{- with $keda.authModes }}
    authModes: {{ . }}
    {{- end }}
    query: {{ printf .query $here }}
    threshold: {{ .threshold | quote }}
    {{- if .isOffBelow }}
    activationThreshold: {{ .threshold | quote }}
    {{- end }}
{{- end -}}
