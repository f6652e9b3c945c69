{{/* The container that dumps the database into /backup, called `name`. */}}
{{- define "muster.dumpContainer" -}}
{{- $values := .root.Values -}}{{- $db := $values.database -}}
{{- $authority := ternary "/etc/muster/ca/ca.crt" "system" (ne $values.caSecret "") -}}
name: {{ .name }}
image: {{ $values.backup.image }}
imagePullPolicy: {{ $values.image.pullPolicy }}
command: [bash, /etc/muster/backup/backup.sh]
env:
  {{- include "muster.backupFiles" .root | nindent 2 }}
  - { name: PGHOST, value: {{ $values.migrations.host | default (include "muster.databaseHost" .root) | quote }} }
  - { name: PGPORT, value: {{ $values.migrations.port | default $db.port | int | quote }} }
  - { name: PGDATABASE, value: {{ $db.name | quote }} }
  - { name: PGUSER, value: muster_owner }
  - { name: PGSSLMODE, value: {{ $db.sslMode }} }
  {{- if hasPrefix "verify-" $db.sslMode }}
  - { name: PGSSLROOTCERT, value: {{ $authority }} }
  {{- end }}
  - name: PGPASSWORD
    valueFrom:
      secretKeyRef: { name: {{ $values.secrets.prefix }}-backup, key: DATABASE_PASSWORD }
{{ include "muster.backupOptions" .root }}
{{- end -}}

{{/* The container that uploads that dump, by audit's image: it has a client of such storages. */}}
{{- define "muster.uploadContainer" -}}
{{- $values := .root.Values -}}{{- $s3 := $values.backup.s3 -}}
name: upload
image: {{ include "muster.image" . }}
imagePullPolicy: {{ $values.image.pullPolicy }}
args: [--enable-source-maps, dist/backup-main.js]
env:
  - { name: NODE_ENV, value: production }
  - { name: LOG_LEVEL, value: {{ $values.logLevel }} }
  {{- include "muster.backupFiles" .root | nindent 2 }}
  - { name: BACKUP_S3_BUCKET, value: {{ $s3.bucket | quote }} }
  - { name: BACKUP_S3_PREFIX, value: {{ $s3.prefix | quote }} }
  - { name: BACKUP_S3_REGION, value: {{ $s3.region | quote }} }
  - { name: BACKUP_S3_PATH_STYLE, value: {{ $s3.pathStyle | quote }} }
  {{- with $s3.endpoint }}
  - { name: BACKUP_S3_ENDPOINT, value: {{ . | quote }} }
  {{- end }}
  {{- range list "BACKUP_S3_ACCESS_KEY_ID" "BACKUP_S3_SECRET_ACCESS_KEY" }}
  - name: {{ . }}
    valueFrom:
      secretKeyRef: { name: {{ $values.secrets.prefix }}-backup, key: {{ . }}, optional: true }
  {{- end }}
  {{- if $values.caSecret }}
  - { name: NODE_EXTRA_CA_CERTS, value: /etc/muster/ca/ca.crt }
  {{- end }}
{{ include "muster.backupOptions" .root }}
{{- end -}}

{{- define "muster.backupFiles" -}}
- { name: BACKUP_DIR, value: /backup }
- { name: BACKUP_KEEP, value: {{ .Values.backup.keep | quote }} }
{{- end -}}

{{/* What both containers have alike. */}}
{{- define "muster.backupOptions" -}}
securityContext: {{- toYaml .Values.defaults.containerSecurityContext | nindent 2 }}
resources: {{- toYaml .Values.backup.resources | nindent 2 }}
volumeMounts:
  - { name: backup, mountPath: /backup }
  - { name: script, mountPath: /etc/muster/backup, readOnly: true }
  - { name: tmp, mountPath: /tmp }
  {{- if .Values.caSecret }}
  - { name: ca, mountPath: /etc/muster/ca, readOnly: true }
  {{- end }}
{{- end -}}
