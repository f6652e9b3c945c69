{{- define "muster.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of an object in at most `limit` characters: fullname and `suffix`; of a longer fullname its beginning and a hash of all of it. */}}
{{- define "muster.shortName" -}}
{{- $full := include "muster.fullname" .root -}}
{{- $room := sub .limit (len .suffix) | int -}}
{{- if gt (len $full) $room }}{{ $full = printf "%s-%s" ($full | trunc (sub $room 9 | int) | trimSuffix "-") (sha256sum $full | trunc 8) }}{{ end -}}
{{- $full }}{{ .suffix }}
{{- end -}}

{{- define "muster.labels" -}}
{{ include "muster.selector" . }}
app.kubernetes.io/version: {{ .root.Values.image.tag | default .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
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

{{- define "muster.image" -}}
{{- $digest := .workload.values.image.digest -}}
{{ .root.Values.image.registry }}/{{ .workload.facts.service }}
{{- if $digest }}@{{ $digest }}{{ else }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}

{{- define "muster.secret" -}}
{{ .workload.values.existingSecret | default (printf "%s-%s" .root.Values.secrets.prefix (include "muster.secretOwner" .workload)) }}
{{- end -}}

{{/* Matcher and sender are one service and share one Secret; the retention worker has its own role and Secret. */}}
{{- define "muster.secretOwner" -}}
{{- if hasPrefix "webhook-" .name -}}webhook-dispatcher{{- else -}}{{ .name }}{{- end -}}
{{- end -}}

{{- define "muster.databaseUrl" -}}
postgres://{{ .role }}@{{ .db.host }}:{{ .db.port }}/{{ .db.name }}{{ if ne .db.sslMode "disable" }}?sslmode={{ .db.sslMode }}{{ end }}
{{- end -}}

{{/* Peers of a NetworkPolicy: all addresses outside but those that nothing of ours may reach. */}}
{{- define "muster.internet" -}}
- ipBlock: { cidr: 0.0.0.0/0, except: {{ .egressExcept | toJson }} }
- ipBlock: { cidr: "2000::/3", except: {{ .egressExceptIPv6 | toJson }} }
{{- end -}}

{{/* Heap in MiB: three quarters of the memory limit without the memory outside of the heap. */}}
{{- define "muster.heapMiB" -}}
{{- $limit := .values.resources.limits.memory | toString -}}
{{- $mib := 0 -}}
{{- if hasSuffix "Gi" $limit }}{{ $mib = mulf (trimSuffix "Gi" $limit | float64) 1024 | int -}}
{{- else if hasSuffix "Mi" $limit }}{{ $mib = trimSuffix "Mi" $limit | float64 | int -}}
{{- else }}{{ fail (printf "services.%s.resources.limits.memory is %q: give it in Mi or Gi, the heap's size follows from it" .name $limit) -}}
{{- end -}}
{{- $native := include "muster.nativeMiB" . | int -}}
{{- $heap := mulf (sub $mib $native) 0.75 | int -}}
{{- if lt $heap 96 }}{{ fail (printf "services.%s.resources.limits.memory is %s: %d MiB of it are needed outside of the heap, which leaves %d MiB for the heap; give it %d Mi or more" .name $limit $native $heap (add $native 128)) }}{{ end -}}
{{- $heap -}}
{{- end -}}

{{/* MiB outside of the heap's old generation: V8's young one, identity's password hashes (scrypt takes 1 KiB × 2^PASSWORD_SCRYPT_LOG_N each),
and the workload's own `native`. */}}
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

{{/* What a pod is besides its containers, of a Deployment and of a Job alike. */}}
{{- define "muster.podOptions" -}}
{{- $v := .workload.values -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext: {{- toYaml $v.podSecurityContext | nindent 2 }}
{{- range $name := list "priorityClassName" "runtimeClassName" "nodeSelector" "tolerations" "affinity" "dnsPolicy" "dnsConfig" "hostAliases" }}
{{- with get $v $name }}
{{ $name }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A container that does one thing as the schema's owner, `migrate` or `reencrypt`, and ends: such alone have the owner's password. */}}
{{- define "muster.ownerContainer" -}}
name: {{ .command }}
image: {{ include "muster.image" . }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: [dist/main.js, {{ .command }}]
env:
  - name: NODE_ENV
    value: production
  - name: PGPASSWORD
    valueFrom:
      secretKeyRef: { name: {{ .root.Values.secrets.prefix }}-{{ .workload.facts.service }}-owner, key: DATABASE_PASSWORD }
  - name: DATABASE_URL
    value: {{ include "muster.databaseUrl" (dict "role" (printf "muster_%s_owner" (.workload.facts.service | replace "-" "_")) "db" .root.Values.database) | quote }}
  {{- if eq .command "reencrypt" }}
  {{- range list "SECRET_ENCRYPTION_KEY" "APP_ENCRYPTION_KEY" }}
  - name: {{ . }}
    valueFrom:
      secretKeyRef: { name: {{ include "muster.secret" $ }}, key: {{ . }}, optional: true }
  {{- end }}
  {{- end }}
  {{- if .root.Values.caSecret }}
  - name: NODE_EXTRA_CA_CERTS
    value: /etc/muster/ca/ca.crt
  {{- end }}
securityContext: {{- toYaml .workload.values.containerSecurityContext | nindent 2 }}
resources: {{- toYaml .workload.values.resources | nindent 2 }}
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  {{- if .root.Values.caSecret }}
  - { name: ca, mountPath: /etc/muster/ca, readOnly: true }
  {{- end }}
{{- end -}}

{{/* The pod template of a Job with such a container. */}}
{{- define "muster.ownerTemplate" -}}
metadata:
  labels: {{- include "muster.labels" (dict "root" .root "workload" (dict "name" .command "facts" .workload.facts "values" .workload.values)) | nindent 4 }}
spec: {{- include "muster.ownerPod" . | nindent 2 }}
{{- end -}}

{{- define "muster.ownerPod" -}}
restartPolicy: OnFailure
{{ include "muster.podOptions" . }}
containers:
  - {{- include "muster.ownerContainer" . | nindent 4 }}
volumes:
  - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
  {{- with .root.Values.caSecret }}
  - { name: ca, secret: { secretName: {{ . }} } }
  {{- end }}
{{- end -}}
