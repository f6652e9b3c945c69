{{/*
What the chart knows of each workload, as data: a further service is a further entry here and one in values.yaml.
  service   image, and the name under which keys, roles and the RPC Service go
  script    program inside the image
  role      database role whose password is DATABASE_PASSWORD of its Secret; pool: connections of a pod
  calls     services that it calls; internet: whether it reaches addresses outside of the cluster
  secrets   keys that its Secret must have
  young     MiB of each half of V8's young generation (--max-semi-space-size), three of which it may take; without it
            V8's own choice, 1 in a container of up to 512 MiB, which suits what is asked for seldom
  native    further MiB that it needs outside of the heap's old generation (buffers)
*/}}
{{- define "muster.workloads" -}}
gateway:
  service: gateway
  calls: [identity, tenancy, audit, device-logs, webhook-dispatcher, agent-release]
  bus: true
  secrets: [CALLER_PRIVATE_KEYS, NATS_NKEY_SEED]
  young: 16
  # Request bodies (BODY_BYTES_MAX).
  native: 128
  # Its replies close their connections for DRAIN_DELAY_MS, so that clients do not send on one that is being closed.
  env: { DRAIN_DELAY_MS: "3000", DRAIN_GRACE_MS: "10000", CHANNEL_RECONNECT_SPREAD_MS: "60000" }
identity:
  service: identity
  role: muster_identity_app
  calls: [tenancy]
  bus: true
  internet: true
  secrets:
    - CALLER_PRIVATE_KEYS
    - NATS_NKEY_SEED
    - DATABASE_PASSWORD
    - JWT_PRIVATE_KEYS
    - SECRET_ENCRYPTION_KEY
    - ENROLLMENT_KEY_PEPPER
  young: 16
  # Each hash takes 128 MiB; without this setting there would be one hash per core of the node at a time.
  env: { PASSWORD_CONCURRENCY: "2" }
tenancy:
  service: tenancy
  role: muster_tenancy_app
  young: 16
  calls: []
  bus: true
  secrets: [CALLER_PRIVATE_KEYS, NATS_NKEY_SEED, DATABASE_PASSWORD]
audit:
  service: audit
  role: muster_audit_app
  calls: [identity, tenancy, webhook-dispatcher]
  bus: true
  # Batches live longer than V8 expects of young objects (docs/decisions/0046).
  young: 64
  secrets: [CALLER_PRIVATE_KEYS, NATS_NKEY_SEED, DATABASE_PASSWORD, CHECKPOINT_PRIVATE_KEY, SECRET_ENCRYPTION_KEY]
audit-retention:
  service: audit
  script: dist/retention-main.js
  role: muster_audit_pruner
  pool: 2
  calls: []
  secrets: [DATABASE_PASSWORD, CHECKPOINT_PRIVATE_KEY]
device-logs:
  service: device-logs
  role: muster_device_logs_app
  calls: [tenancy]
  bus: true
  secrets: [CALLER_PRIVATE_KEYS, NATS_NKEY_SEED, DATABASE_PASSWORD]
webhook-matcher:
  service: webhook-dispatcher
  role: muster_webhook_dispatcher_app
  young: 16
  calls: [identity, tenancy]
  bus: true
  internet: true
  secrets: [CALLER_PRIVATE_KEYS, NATS_NKEY_SEED, DATABASE_PASSWORD, SECRET_ENCRYPTION_KEY]
  env: { DISPATCHER_ROLE: matcher }
webhook-sender:
  service: webhook-dispatcher
  role: muster_webhook_dispatcher_app
  young: 16
  calls: [identity, tenancy]
  bus: true
  internet: true
  secrets: [CALLER_PRIVATE_KEYS, NATS_NKEY_SEED, DATABASE_PASSWORD, SECRET_ENCRYPTION_KEY]
  env: { DISPATCHER_ROLE: all, DRAIN_GRACE_MS: "30000" }
agent-release:
  service: agent-release
  role: muster_agent_release_app
  # A batch of heartbeats is decided on in one call, whose rows a smaller one collects over and over.
  young: 16
  calls: [identity, tenancy]
  bus: true
  internet: true
  secrets: [CALLER_PRIVATE_KEYS, NATS_NKEY_SEED, DATABASE_PASSWORD]
{{- end -}}

{{/*
All workloads with their values: {<name>: {name, facts, values}}; `defaults` lie under each service's own values, of
their settings those that it has.
*/}}
{{- define "muster.resolved" -}}
{{- $all := dict -}}
{{- $root := . -}}
{{- $known := .Files.Get "files/settings.json" | fromJson -}}
{{- range $name, $facts := include "muster.workloads" . | fromYaml -}}
{{- $own := index $root.Values.services $name | default dict -}}
{{- $defaults := deepCopy $root.Values.defaults -}}
{{- range $setting, $_ := $root.Values.defaults.config -}}
{{- $settings := index $known $name -}}
{{- if not (hasKey $settings (include "muster.settingName" (dict "known" $settings "name" $setting))) -}}
{{- $_ := unset $defaults.config $setting -}}
{{- end -}}
{{- end -}}
{{- $values := mergeOverwrite $defaults (deepCopy $own) -}}
{{- /* Null means what it says, where merging would take the default. */ -}}
{{- if and (hasKey $own "replicas") (kindIs "invalid" $own.replicas) }}{{ $_ := set $values "replicas" nil }}{{ end -}}
{{- $_ := set $all $name (dict "name" $name "facts" $facts "values" $values) -}}
{{- end -}}
{{- $all | toJson -}}
{{- end -}}

{{/* Most pods of a workload at a time, before a rolling update adds one. */}}
{{- define "muster.mostReplicas" -}}
{{- $v := .workload.values -}}
{{- if and .root.Values.keda.enabled (eq .workload.name "webhook-sender") -}}{{ .root.Values.keda.sender.maxReplicas }}
{{- else if and .root.Values.keda.enabled (eq .workload.name "webhook-matcher") -}}
{{- .root.Values.keda.matcher.maxReplicas }}
{{- else if $v.autoscaling.enabled -}}{{ $v.autoscaling.maxReplicas }}
{{- else if kindIs "invalid" $v.replicas -}}
{{- /* Known to the cluster alone. */ -}}
{{- max 2 (dig "spec" "replicas" 0 (include "muster.liveDeployment" . | fromJson)) }}
{{- else -}}{{ $v.replicas }}
{{- end -}}
{{- end -}}

{{/* Fewest pods of a workload, which an autoscaler leaves: one, where the chart does not know. */}}
{{- define "muster.leastReplicas" -}}
{{- $v := .workload.values -}}
{{- if include "muster.scaledByKeda" . -}}
{{- (get .root.Values.keda (trimPrefix "webhook-" .workload.name)).minReplicas }}
{{- else if or $v.autoscaling.enabled (kindIs "invalid" $v.replicas) -}}1
{{- else -}}{{ $v.replicas }}
{{- end -}}
{{- end -}}

{{/* The workload's Deployment as it is in the cluster, as JSON; empty where there is none, and without a cluster. */}}
{{- define "muster.liveDeployment" -}}
{{- lookup "apps/v1" "Deployment" .root.Release.Namespace (printf "%s-%s" (include "muster.fullname" .root)
  .workload.name) | default dict | toJson -}}
{{- end -}}

{{/*
`replicas` of a Deployment, or nothing. A number that an autoscaler or `kubectl scale` decides (`replicas: null`) is not
the chart's: with it each upgrade would conflict with them, or undo what they did. But a field that Helm alone owns
becomes 1 when it is left out, which ends pods: the live number is kept until another owner has written it.
*/}}
{{- define "muster.replicas" -}}
{{- $v := .workload.values -}}
{{- if not (or $v.autoscaling.enabled (include "muster.scaledByKeda" .) (kindIs "invalid" $v.replicas)) -}}
{{- $v.replicas }}
{{- else -}}
{{- $live := include "muster.liveDeployment" . | fromJson -}}
{{- $isShared := false -}}
{{- range $owner := dig "metadata" "managedFields" (list) $live -}}
{{- if and (ne $owner.manager "helm") (hasKey (dig "fieldsV1" "f:spec" (dict) $owner) "f:replicas") -}}
{{- $isShared = true -}}
{{- end -}}
{{- end -}}
{{- if and $live (not $isShared) }}{{ dig "spec" "replicas" 1 $live }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Connections of one pod of a workload. */}}
{{- define "muster.pool" -}}
{{- if not .facts.role }}0{{ else }}{{ .facts.pool | default (index .values.config "DATABASE_POOL_MAX") | default 5 }}
{{- end -}}
{{- end -}}

{{- define "muster.scaledByKeda" -}}
{{- if and .root.Values.keda.enabled (has .workload.name (list "webhook-sender" "webhook-matcher")) -}}true{{- end -}}
{{- end -}}
