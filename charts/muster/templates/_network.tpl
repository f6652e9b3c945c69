{{/* Peers of a NetworkPolicy: all addresses outside but those that nothing of ours may reach. */}}
{{- define "muster.internet" -}}
- ipBlock: { cidr: 0.0.0.0/0, except: {{ .egressExcept | toJson }} }
- ipBlock: { cidr: "2000::/3", except: {{ .egressExceptIPv6 | toJson }} }
{{- end -}}

{{/* The port of an S3-compatible storage at a URL; empty: of AWS. */}}
{{- define "muster.storagePort" -}}
{{- $endpoint := . | default "https://s3.amazonaws.com" -}}
{{- $usual := hasPrefix "http://" $endpoint | ternary "80" "443" -}}
{{- regexFind ":[0-9]+$" (urlParse $endpoint).host | trimPrefix ":" | default $usual -}}
{{- end -}}

{{/* The rule of a NetworkPolicy that lets its pods resolve names. */}}
{{- define "muster.dns" -}}
- to: {{- toYaml .dnsPeers | nindent 4 }}
  ports:
    {{- range .dnsPorts }}
    - { port: {{ . }}, protocol: UDP }
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end -}}

{{/* Peers of a NetworkPolicy: pods of this release that have one of the `components`. */}}
{{- define "muster.podsOf" -}}
- podSelector:
    matchLabels: { app.kubernetes.io/name: muster, app.kubernetes.io/instance: {{ .root.Release.Name }} }
    matchExpressions:
      - { key: app.kubernetes.io/component, operator: In, values: {{ .components | toJson }} }
{{- end -}}

{{- define "muster.toDatabase" -}}
- ports:
    - port: {{ .Values.database.port }}
    {{- if not (has (int .Values.migrations.port) (list 0 (int .Values.database.port))) }}
    - port: {{ .Values.migrations.port }}
    {{- end }}
  {{- with .Values.database.peers }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "muster.toNats" -}}
- ports:
    {{- range .Values.nats.ports }}
    - port: {{ . }}
    {{- end }}
  {{- with .Values.nats.peers }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
