#!/bin/bash
# images.sh OUT TAG SERVICE…: images localhost/muster/SERVICE:TAG as OUT/SERVICE.tar, without a builder: the folder that
# deploy/Dockerfile makes too (deploy/image/stage.mjs) over OUT/base.
set -euo pipefail
image=$(cd "$(dirname "$0")/../../image" && pwd)
out=$1 tag=$2
shift 2
config='{"Entrypoint":["/usr/bin/node"],"Cmd":["--enable-source-maps","dist/main.js"],"WorkingDir":"/app/service","User":"10001:10001","Env":["PATH=/usr/bin:/bin","NODE_ENV=production","MALLOC_ARENA_MAX=2","MALLOC_TRIM_THRESHOLD_=262144"]}'
for service in "$@"; do
  stage=$out/stage/$service
  mkdir -p "$stage"
  node "$image/stage.mjs" "$service" "$stage/app"
  node "$image/oci.mjs" "localhost/muster/$service:$tag" "$out/$service.tar" "$config" "$out/base" "$stage"
done
