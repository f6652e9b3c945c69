{{/* The rules of this release, without those of workloads that may run no pod: absent is then no fault. */}}
{{- define "muster.rules" -}}
{{- $root := . -}}
{{- $workloads := include "muster.resolved" . | fromJson -}}
{{- $text := .Files.Get "files/rules.yaml" | replace "NAMESPACE" .Release.Namespace | replace "RELEASE"
  .Release.Name -}}
{{- $groups := list -}}
{{- range $group := ($text | replace "runbook_url: " (printf "runbook_url: %s"
  .Values.prometheusRule.runbookBaseUrl) | fromYaml).groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- $workload := get ($rule.labels | default dict) "service" -}}
{{- $isOff := and $workload (eq (include "muster.leastReplicas" (dict "root" $root "workload" (get $workloads
  $workload)) | int) 0) -}}
{{- if not $isOff }}{{ $rules = append $rules $rule }}{{ end -}}
{{- end -}}
{{- $groups = append $groups (dict "name" $group.name "rules" $rules) -}}
{{- end -}}
{{- dict "groups" $groups | toYaml -}}
{{- end -}}
