{{/* Where a workload's container finds its files: keys of callers, authorities, certificates, binaries. */}}
{{- define "muster.volumeMounts" -}}
{{- $f := .workload.facts -}}{{- $values := .root.Values -}}
- { name: tmp, mountPath: /tmp }
{{- if and $f.bus (ne .workload.name "gateway") }}
- { name: callers, mountPath: /etc/muster/callers, readOnly: true }
{{- end }}
{{- if $values.caSecret }}
- { name: ca, mountPath: /etc/muster/ca, readOnly: true }
{{- end }}
{{- if and $values.tls.secret $f.bus }}
- { name: tls, mountPath: /etc/muster/tls, readOnly: true }
{{- end }}
{{- if and (eq .workload.name "agent-release") $values.releases.store.claim }}
- { name: releases, mountPath: /var/lib/muster/releases }
{{- end }}
{{- with .workload.values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "muster.volumes" -}}
{{- $f := .workload.facts -}}{{- $values := .root.Values -}}{{- $v := .workload.values -}}
- { name: tmp, emptyDir: { sizeLimit: 256Mi } }
{{- if and $f.bus (ne .workload.name "gateway") }}
- { name: callers, configMap: { name: {{ $values.secrets.prefix }}-callers } }
{{- end }}
{{- with $values.caSecret }}
- { name: ca, secret: { secretName: {{ . }} } }
{{- end }}
{{- if and $values.tls.secret $f.bus }}
- { name: tls, secret: { secretName: {{ $v.tlsSecret | default $values.tls.secret }}, defaultMode: 288 } }
{{- end }}
{{- if and (eq .workload.name "agent-release") $values.releases.store.claim }}
- { name: releases, persistentVolumeClaim: { claimName: {{ $values.releases.store.claim }} } }
{{- end }}
{{- with $v.extraVolumes }}
{{ toYaml . }}
{{- end }}
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
{{- range $name := list "priorityClassName" "runtimeClassName" "nodeSelector" "tolerations" "affinity" "dnsPolicy"
  "dnsConfig" "hostAliases" }}
{{- with get $v $name }}
{{ $name }}: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
A container that does one thing as the schema's owner, `migrate` or `reencrypt`, and ends: such alone have the owner's
password.
*/}}
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
      secretKeyRef:
        name: {{ .root.Values.secrets.prefix }}-{{ .workload.facts.service }}-owner
        key: DATABASE_PASSWORD
  - name: DATABASE_URL
    {{- $owner := printf "muster_%s_owner" (.workload.facts.service | replace "-" "_") }}
    value: {{ include "muster.databaseUrl" (merge (dict "root" .root "role" $owner) .root.Values.migrations) | quote }}
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
  labels: {{- include "muster.labels" (merge (dict "component" .command) .) | nindent 4 }}
spec: {{- include "muster.ownerPod" . | nindent 2 }}
{{- end -}}

{{- define "muster.ownerPod" -}}
restartPolicy: OnFailure
{{ include "muster.podOptions" . }}
{{- with .workload.values.initContainers }}
initContainers: {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - {{- include "muster.ownerContainer" . | nindent 4 }}
volumes:
  - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
  {{- with .root.Values.caSecret }}
  - { name: ca, secret: { secretName: {{ . }} } }
  {{- end }}
  {{- with .workload.values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
