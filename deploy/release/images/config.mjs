/** Labels of an image, and annotations of its index: what it is and what it was made of. */
export function labelsOf({ service, version, revision, source, created }) {
  const labels = { title: `muster-${service}`, version, revision, licenses: "Apache-2.0", created };
  const all = Object.entries(source === undefined ? labels : { ...labels, source });
  return Object.fromEntries(all.map(([name, value]) => [`org.opencontainers.image.${name}`, value]));
}

/** The configuration of an image of Node (OCI Image Configuration); what the base sets besides stays. */
export function configOf(release, base) {
  const env = Object.fromEntries((base.Env ?? ["PATH=/usr/bin:/bin"]).map((each) => each.split(/=(.*)/s)));
  // glibc keeps an arena for each thread, and in it what that thread once took: more than 256 KB at its end goes back.
  const own = { NODE_ENV: "production", MALLOC_ARENA_MAX: "2", MALLOC_TRIM_THRESHOLD_: "262144" };
  return {
    User: "10001:10001",
    ExposedPorts: { "3000/tcp": {}, "8080/tcp": {}, "9090/tcp": {} },
    Env: Object.entries({ ...env, ...own }).map((each) => each.join("=")),
    Entrypoint: ["node"],
    Cmd: ["--enable-source-maps", "dist/main.js"],
    WorkingDir: "/app/service",
    Labels: { ...base.Labels, ...labelsOf(release) },
  };
}

/** The configuration of the image that makes keys, roles and schemas: a service's, with another program and no port. */
export function setupConfigOf(release, base) {
  const { ExposedPorts, Cmd, ...config } = configOf(release, base);
  return { ...config, WorkingDir: "/app" };
}

/** The configuration of the image of nats-server, which has that program alone. */
export const natsConfigOf = (release) => ({
  User: "10001:10001",
  ExposedPorts: { "4222/tcp": {} },
  Env: ["PATH=/usr/bin"],
  Entrypoint: ["/usr/bin/nats-server"],
  Labels: labelsOf(release),
});
