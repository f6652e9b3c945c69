{{/* Refuses an installation whose Secrets, or keys in them, are not there, and says what makes them. */}}
{{- define "muster.requireTls" -}}
{{- $root := .root -}}
{{- with $root.Values.caSecret -}}
{{- include "muster.requireFiles" (dict "root" $root "name" . "value" "caSecret" "keys" (list "ca.crt")) -}}
{{- end -}}
{{- if $root.Values.tls.secret -}}
{{- $seen := dict -}}
{{- range $name, $w := .workloads -}}
{{- if $w.facts.bus }}{{ $_ := set $seen ($w.values.tlsSecret | default $root.Values.tls.secret) true }}{{ end -}}
{{- end -}}
{{- range $secret, $_ := $seen -}}
{{- include "muster.requireFiles" (dict "root" $root "name" $secret "value" "tls.secret" "keys" (list "ca.crt"
  "tls.crt" "tls.key")) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "muster.requireFiles" -}}
{{- $secret := lookup "v1" "Secret" .root.Release.Namespace .name -}}
{{- if not $secret -}}
{{- fail (printf (cat "Secret %s, which %s names, does not exist in namespace %s: make it with %s"
  "(docs/operations/tls.md), or set secrets.verify=false") .name .value .root.Release.Namespace (join ", " .keys)) -}}
{{- end -}}
{{- range $key := .keys -}}
{{- if not (hasKey ($secret.data | default dict) $key) -}}
{{- fail (printf "Secret %s, which %s names, has no key %s: docs/operations/tls.md says what it is" $.name $.value
  $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "muster.requireSecret" -}}
{{- $secret := lookup "v1" "Secret" .root.Release.Namespace .name -}}
{{- if not $secret -}}
{{- fail (printf (cat "Secret %s does not exist in namespace %s: make it with `muster cluster keys`"
  "(charts/muster/README.md), or set secrets.verify=false") .name .root.Release.Namespace) -}}
{{- end -}}
{{- range $key := .keys -}}
{{- if not (hasKey ($secret.data | default dict) $key) -}}
{{- fail (printf (cat "Secret %s has no key %s: `muster cluster keys` makes it; docs/operations/rotate-keys.md says"
  "what it is") $.name $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
At the first installation each service that seals secrets must have its own key: a key that one service loses opens no
other's secrets.
*/}}
{{- define "muster.requireOwnKeys" -}}
{{- $seen := dict -}}
{{- range $name, $w := include "muster.resolved" . | fromJson -}}
{{- if has "SECRET_ENCRYPTION_KEY" $w.facts.secrets -}}
{{- $secret := include "muster.secret" (dict "root" $ "workload" $w) -}}
{{- $key := index ((lookup "v1" "Secret" $.Release.Namespace $secret).data | default dict) "SECRET_ENCRYPTION_KEY" |
  toString -}}
{{- $other := get $seen $key -}}
{{- if and $other (ne $other $secret) $.Release.IsInstall -}}
{{- fail (printf (cat "Secrets %s and %s have the same SECRET_ENCRYPTION_KEY: give each service its own;"
  "`muster cluster keys` does") $other $secret) -}}
{{- end -}}
{{- $_ := set $seen $key $secret -}}
{{- end -}}
{{- end -}}
{{- end -}}
