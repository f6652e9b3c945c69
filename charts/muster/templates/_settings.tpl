{{/*
Settings under `config`: files/settings.json says which a workload has, within which bounds
(deploy/kubernetes/settings.mjs makes it out of the services' config.ts). A setting that the chart derives from another
value is refused with the name of that value.
*/}}
{{- define "muster.settingsOfChart" -}}
NATS_URL: nats.url
NATS_STREAM_REPLICAS: nats.streamReplicas
NATS_TLS_CERT_PATH: tls.nats
NATS_TLS_KEY_PATH: tls.nats
RPC_TLS_CA_PATH: tls.secret
RPC_TLS_CERT_PATH: tls.secret
RPC_TLS_KEY_PATH: tls.secret
DATABASE_URL: database
DATABASE_URL_APP: database
DATABASE_URL_PRUNER: database
DATABASE_URL_READ: database.readHost
AUTO_MIGRATE: migrations.mode
PUBLIC_URL: publicUrl
PUBLIC_APP_URL: dashboardUrl
DASHBOARD_URL: dashboardUrl
BOOTSTRAP_ADMIN_EMAIL: adminEmail
DEPLOYMENT_NAME: deploymentName
IS_HOSTED: hosted
SSO_DNS_SERVERS: sso.dnsServers
TRUST_PROXY_HEADERS: services.gateway.trustedProxyCidrs
TRUSTED_PROXY_CIDRS: services.gateway.trustedProxyCidrs
RELEASE_SOURCE: releases.source
RELEASE_MANIFEST_KEYS: releases.manifestKeys
ALLOW_UNSIGNED_RELEASES: releases.allowUnsigned
RELEASE_S3_BUCKET: releases.store.bucket
RELEASE_S3_REGION: releases.store.region
RELEASE_S3_ENDPOINT: releases.store.endpoint
RELEASE_S3_PATH_STYLE: releases.store.pathStyle
RELEASE_S3_PROXY: releases.store.proxy
{{- end -}}

{{/* Settings that the rest of the chart counts on: ports, probes, mounts, the Services' names. */}}
{{- define "muster.fixedSettings" -}}
[PORT, RPC_PORT, OPS_PORT, CALLER_PUBLIC_KEYS_DIR, DISPATCHER_ROLE, IDENTITY_URL, TENANCY_URL, AUDIT_URL,
DEVICE_LOGS_URL, WEBHOOK_DISPATCHER_URL, AGENT_RELEASE_URL]
{{- end -}}

{{/* The setting that a variable sets: NAME_FILE is a file with the value of NAME. */}}
{{- define "muster.settingName" -}}
{{- if hasKey .known .name }}{{ .name }}{{ else }}{{ trimSuffix "_FILE" .name }}{{ end -}}
{{- end -}}

{{/* Numbers as people write them: values that came through JSON are floats, and Go prints a million as 1e+06. */}}
{{- define "muster.plain" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ printf "%.0f" . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{- define "muster.validateSettings" -}}
{{- $root := .root -}}
{{- $known := $root.Files.Get "files/settings.json" | fromJson -}}
{{- $anywhere := dict -}}
{{- range $_, $settings := $known -}}
{{- range $name, $_ := $settings -}}
{{- $_ := set $anywhere $name true -}}
{{- end -}}
{{- end -}}
{{- range $name, $_ := $root.Values.defaults.config -}}
{{- if not (hasKey $anywhere (include "muster.settingName" (dict "known" $anywhere "name" $name))) -}}
{{- fail (printf (cat "defaults.config.%s is a setting of no service: docs/operations/settings.md lists them; a"
  "variable of another kind goes under defaults.extraEnv") $name) -}}
{{- end -}}
{{- end -}}
{{- if eq (include "muster.plain" (get (index .workloads "identity").values.config "PASSWORD_CONCURRENCY")) "0" -}}
{{- fail (cat "services.identity.config.PASSWORD_CONCURRENCY is 0, one hash for each core of the node: give a number,"
  "the memory limit follows from it") -}}
{{- end -}}
{{- range $workload, $w := .workloads -}}
{{- $settings := index $known $workload -}}
{{- range $variable, $given := $w.values.config -}}
{{- $name := include "muster.settingName" (dict "known" $settings "name" $variable) -}}
{{- $where := printf "services.%s.config.%s" $workload $variable -}}
{{- if eq $name "DATABASE_PASSWORD" -}}
{{- fail (printf "%s is a secret: put it into Secret %s, where nobody reads it in a release's values" $where
  (include "muster.secret" (dict "root" $root "workload" $w))) -}}
{{- end -}}
{{- if not (hasKey $settings $name) -}}
{{- $near := list -}}
{{- range $other, $_ := $settings -}}
{{- if hasPrefix (printf "%s_" (first (splitList "_" $name))) $other -}}
{{- $near = append $near $other -}}
{{- end -}}
{{- end -}}
{{- fail (printf (cat "%s is no setting of %s: %sdocs/operations/settings.md lists them; a variable of another kind"
  "goes under extraEnv") $where $workload ($near | empty | ternary "" (printf "did you mean %s? " (join ", " ($near
  | sortAlpha))))) -}}
{{- end -}}
{{- $fact := index $settings $name -}}
{{- if and $fact.secret (eq $name $variable) -}}
{{- fail (printf "%s is a secret: put it into Secret %s, where nobody reads it in a release's values" $where
  (include "muster.secret" (dict "root" $root "workload" $w))) -}}
{{- end -}}
{{- with get (include "muster.settingsOfChart" $ | fromYaml) $name -}}
{{- fail (printf "%s follows from %s: set that" $where .) -}}
{{- end -}}
{{- if has $name (include "muster.fixedSettings" $ | fromYamlArray) -}}
{{- fail (printf "%s is set by the chart, whose Services, probes and volumes count on it: remove it" $where) -}}
{{- end -}}
{{- if eq $name $variable -}}
{{- $value := include "muster.plain" $given -}}
{{- if and $fact.one (not (has $value $fact.one)) -}}
{{- fail (printf "%s is %q: use one of %s" $where $value (join ", " $fact.one)) -}}
{{- end -}}
{{- if hasKey $fact "max" -}}
{{- if not (and (regexMatch "^-?[0-9]{1,16}$" $value) (ge (int64 $value) (int64 $fact.min)) (le (int64 $value)
  (int64 $fact.max))) -}}
{{- fail (printf "%s is %q: use a whole number from %d to %d" $where $value (int64 $fact.min) (int64 $fact.max)) -}}
{{- end -}}
{{- end -}}
{{- if and $fact.pattern (not (regexMatch $fact.pattern $value)) -}}
{{- fail (printf "%s is %q: it must match %s" $where $value $fact.pattern) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $workload, $w := .workloads -}}
{{- include "muster.validateOrder" (dict "workload" $workload "w" $w "settings" (index $known $workload)) -}}
{{- end -}}
{{- range $name, $_ := $anywhere -}}
{{- $seen := dict -}}
{{- range $workload, $w := $.workloads -}}
{{- if get (get (index $known $workload) $name | default dict) "shared" -}}
{{- $_ := set $seen (include "muster.plain" (get $w.values.config $name)) $workload -}}
{{- end -}}
{{- end -}}
{{- if gt (len $seen) 1 -}}
{{- fail (printf "%s is not the same for %s: set it under defaults.config, it goes for all of them" $name (values
  $seen | sortAlpha | join " and ")) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Settings of one workload that keep an order: what `config` says, else what the chart sets, else the standard. */}}
{{- define "muster.validateOrder" -}}
{{- $values := mergeOverwrite (dict) (deepCopy (.w.facts.env | default dict)) (deepCopy .w.values.config) -}}
{{- $words := dict "below" "below" "above" "above" "atMost" "at most" -}}
{{- range $name, $fact := .settings -}}
{{- range $order, $said := $words -}}
{{- $other := get $fact $order | toString -}}
{{- if and $other (not (hasKey $values (printf "%s_FILE" $name))) (not (hasKey $values (printf "%s_FILE" $other))) -}}
{{- $own := get $values $name | default $fact.standard | int64 -}}
{{- $limit := get $values $other | default (index $.settings $other).standard | int64 -}}
{{- $holds := ternary (lt $own $limit) (ternary (gt $own $limit) (le $own $limit) (eq $order "above")) (eq $order
  "below") -}}
{{- if not $holds -}}
{{- fail (printf "services.%s.config.%s (%d) must be %s %s (%d): change one of them" $.workload $name $own $said
  $other $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Seconds between a workload's SIGTERM and its end, at most, by the settings that it waits for, in steps of 5. */}}
{{- define "muster.drainSeconds" -}}
{{- $w := . -}}
{{- $ms := 5000 -}}
{{- $standard := dict "DRAIN_DELAY_MS" 0 "DRAIN_GRACE_MS" 15000 "CHANNEL_RECONNECT_SPREAD_MS" 0 -}}
{{- range $name, $value := mergeOverwrite $standard (deepCopy ($w.facts.env | default dict)) (deepCopy
  $w.values.config) -}}
{{- if has $name (list "DRAIN_DELAY_MS" "DRAIN_GRACE_MS" "CHANNEL_RECONNECT_SPREAD_MS") -}}
{{- $ms = add $ms (int $value) -}}
{{- end -}}
{{- end -}}
{{- mul (ceil (divf $ms 5000) | int) 5 -}}
{{- end -}}
