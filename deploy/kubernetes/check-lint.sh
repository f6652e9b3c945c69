#!/usr/bin/env bash
# The chart without a cluster: helm lint, every file of ci/ against Kubernetes' own schemas, unit tests (wrong values among them), the
# services' settings, rules and their tests.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need_go "lint of the chart"
get_prometheus
"$here/tools/build.sh" "$bin" lint
export PATH=$bin:$PATH

schemas=$cache/schemas
if [ ! -e "$schemas/.done" ]; then
  version=$(cd "$here/tools" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
  mapfile -t files < <(crds)
  node "$here/schemas.mjs" "$schemas" "$(module "k8s.io/kubernetes@$version")/api/openapi-spec/swagger.json" "${files[@]}"
  touch "$schemas/.done"
fi
# The Go module of External Secrets is not served: its objects in examples/ have no schema here.
conforms() { kubeconform -strict -summary -skip ExternalSecret -schema-location "$schemas/{{.ResourceKind}}{{.KindSuffix}}.json" "$@"; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for values in "$chart"/ci/*-values.yaml "$chart"/values-demo.yaml "$chart"/examples/*.yaml; do
  name=$(basename "$values" .yaml)
  name=${name%-values}
  helm lint --strict --quiet "$chart" -f "$values"
  helm template muster "$chart" --namespace muster -f "$values" >"$work/$name.yaml"
  echo "$name: $(conforms "$work/$name.yaml" | tail -1)"
done

# A check that cannot fail proves nothing: wrong names must be found.
for wrong in maxReplicas:maxReplcas runAsNonRoot:runAsNonRot minReplicaCount:minReplicasCount; do
  sed "s/${wrong%:*}/${wrong#*:}/" "$work/full.yaml" >"$work/wrong.yaml"
  cmp -s "$work/full.yaml" "$work/wrong.yaml" && { echo "full-values.yaml renders no ${wrong%:*}" >&2; exit 1; }
  if conforms "$work/wrong.yaml" >/dev/null 2>&1; then echo "a misspelt ${wrong%:*} passes the schemas" >&2; exit 1; fi
done
echo "misspelt fields are refused"

for file in nats-server.conf permissions.conf; do
  cmp "$root/deploy/nats/$file" "$chart/files/nats/$file" || { echo "copy deploy/nats/$file into charts/muster/files/nats" >&2; exit 1; }
done
node "$here/values.mjs" --check
node "$here/names.mjs" "$chart"
if LC_ALL=C.UTF-8 grep -nE '^.{121,}' "$chart"/templates/*.tpl "$chart"/templates/*.yaml; then
  echo "templates have lines of more than 120 columns" >&2
  exit 1
fi
node "$root/deploy/local/prepare.mjs"
node "$here/settings.mjs" --check
cp -r "$chart" "$work/chart"
node "$here/wrong-values.mjs" "$work/chart"
helm-unittest --strict -f 'tests/*_test.yaml' "$work/chart" >"$work/tests.log" 2>"$work/warnings.log" || { grep -v '^ PASS' "$work/tests.log" >&2; exit 1; }
tail -n 6 "$work/tests.log"

# The rules as the chart renders them, then each alert.
node -e 'const { parseAllDocuments } = require("yaml");
  const rules = parseAllDocuments(require("fs").readFileSync(0, "utf8")).map((each) => each.toJS()).find((each) => each?.kind === "PrometheusRule");
  console.log(JSON.stringify(rules.spec));' <"$work/full.yaml" >"$work/rules.yaml"
promtool check rules "$work/rules.yaml"
node "$root/deploy/observability/tests/alerts.mjs" --mutations
node "$root/deploy/observability/tests/dashboards.mjs"
node "$root/deploy/reference/generate.mjs" --check
