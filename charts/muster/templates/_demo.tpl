{{- define "muster.demoHost" -}}{{ include "muster.fullname" . }}-demo-postgres{{- end -}}

{{- define "muster.natsUrl" -}}
{{- $demo := printf "nats://%s-demo-nats:4222" (include "muster.fullname" .) -}}
{{ ternary $demo .Values.nats.url .Values.demo.enabled }}
{{- end -}}

{{/* A StatefulSet of the demo up to its pod's containers. */}}
{{- define "muster.demoSet" -}}
{{- $name := printf "%s-%s" (include "muster.fullname" .root) .component -}}
{{- $labels := include "muster.labels" (dict "root" .root "component" .component) -}}
serviceName: {{ $name }}
replicas: 1
selector:
  matchLabels: {{- include "muster.selector" (dict "root" .root "workload" (dict "name" .component)) | nindent 4 }}
volumeClaimTemplates:
  - metadata: { name: data }
    spec:
      accessModes: [ReadWriteOnce]
      {{- with .root.Values.demo.storageClassName }}
      storageClassName: {{ . }}
      {{- end }}
      resources: { requests: { storage: {{ .root.Values.demo.storage }} } }
template:
  metadata:
    labels: {{- $labels | nindent 6 }}
  spec:
    automountServiceAccountToken: false
    enableServiceLinks: false
    securityContext:
      runAsNonRoot: true
      runAsUser: {{ .uid }}
      runAsGroup: {{ .uid }}
      fsGroup: {{ .uid }}
      seccompProfile: { type: RuntimeDefault }
{{- end -}}
