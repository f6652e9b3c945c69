import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  ask,
  bash,
  call,
  dir,
  figures,
  helm,
  kubectl,
  load,
  must,
  rate,
  root,
  say,
  sleep,
  until,
  watchGateways,
  workloads,
} from "./client.mjs";
import { kinds } from "./kept-logs.mjs";
import { begin, end, looks } from "./try-runbooks.mjs";

/** Calls of a technician's hour: four lists and a new site. */
export const mixture = (session) => {
  const get = (path) => call("GET", path, undefined, session.token);
  let n = 0;
  return Object.values({
    me: () => get("/auth/me"),
    partners: () => get("/orgs/partners?limit=5"),
    devices: () => get("/devices?limit=5"),
    webhooks: () => get(`/webhooks?limit=5&orgId=${session.org.id}`),
    site() {
      n += 1;
      return call("POST", "/orgs/sites", { orgId: session.org.id, name: `Site ${Date.now()}-${n}` }, session.token);
    },
  });
};

const rolled = async (name) => {
  await kubectl("rollout", "restart", `deployment/muster-${name}`);
  await kubectl("rollout", "status", `deployment/muster-${name}`, "--timeout=180s");
};

/** Every deployment is restarted under load: no request fails, and agents stay online. */
export async function rollout(session) {
  const gateways = watchGateways();
  const running = load(rate, mixture(session));
  await sleep(2_000);
  const failures = [];
  for (const name of workloads) {
    const { sent, failed } = running.figures;
    const before = { sent, failed: failed.length };
    running.figures.slowestMs = 0;
    await rolled(name);
    await sleep(2_000);
    const lost = failed.slice(before.failed);
    const counted = `${lost.length} of ${running.figures.sent - before.sent} failed`;
    say(`${name} rolled: ${counted}, slowest ${Math.round(running.figures.slowestMs)} ms`);
    if (lost.length > 0) failures.push(`${name}: ${counted}: ${kinds(lost)}`);
  }
  const { sent, failed, resent } = await running.stop();
  say(
    `nine deployments rolled at ${rate}/s: ${failed.length} of ${sent} failed, ${resent} sent again; ${await gateways()}`,
  );
  figures(
    { "requests failed in rollout": failed.length },
    ["rate", rate, "requests/s"],
    ["requests in rollout", sent, ""],
  );
  must(failures.length === 0, `no request fails while deployments are rolled: ${failures.join("; ")}`);
  await until("all agents online", async () => (await online(session)) === 5, 30_000);
}

/** How many of the simulated agents are online. */
export const online = async (session) =>
  (await ask("GET", `/devices?status=online&orgId=${session.org.id}`, undefined, session.token)).data.length;

/** `helm upgrade` to a version with one more migration, then `helm rollback`, under load. */
export async function upgrade(session) {
  const stage = join(dir, "tenancy-next");
  cpSync(join(dir, "images/stage/tenancy"), stage, { recursive: true, verbatimSymlinks: true });
  const migration =
    "-- A table of the next version.\ncreate table next_version (id uuid primary key, org_id uuid not null);\nalter table next_version enable row level security;\ncreate policy next_version_none on next_version using (false);\n";
  writeFileSync(join(stage, "app/services/tenancy/migrations/9999_next_version.sql"), migration);
  const config = {
    Entrypoint: ["/usr/bin/node"],
    Cmd: ["dist/main.js"],
    WorkingDir: "/app/service",
    User: "10001:10001",
    Env: ["PATH=/usr/bin:/bin"],
  };
  const tar = join(dir, "tenancy-next.tar");
  execFileSync("node", [
    join(root, "deploy/image/oci.mjs"),
    "localhost/muster/tenancy:next",
    tar,
    JSON.stringify(config),
    join(dir, "images/base"),
    stage,
  ]);
  execFileSync("ctr", ["-n", "k8s.io", "images", "import", tar], { stdio: "ignore" });
  rmSync(tar);
  for (const name of ["gateway", "identity", "audit", "device-logs", "webhook-dispatcher", "agent-release"]) {
    execFileSync(
      "ctr",
      ["-n", "k8s.io", "images", "tag", `localhost/muster/${name}:trial`, `localhost/muster/${name}:next`],
      { stdio: "ignore" },
    );
  }
  const gateways = watchGateways();
  // Every pod starts at once, each after its migration: twenty Node programs, 2 to 3 s of a core each.
  const running = load(rate / 4, mixture(session));
  await sleep(1_000);
  const values = join(root, "charts/muster/ci/cluster-values.yaml");
  await helm(
    "upgrade",
    "muster",
    join(root, "charts/muster"),
    "-f",
    values,
    "--set",
    "image.tag=next",
    "--wait",
    "--timeout",
    "5m",
  );
  const component = "app.kubernetes.io/component=tenancy";
  const pods = await kubectl("get", "pods", "-l", component, "--sort-by=.metadata.creationTimestamp", "-o", "name");
  const logs = await kubectl("logs", pods.split("\n").at(-1), "-c", "migrate");
  must(logs.includes("9999_next_version"), "the upgrade applied the migration");
  const counted = () => {
    const { failed, sent, slowestMs } = running.figures;
    return `${failed.length} of ${sent} failed, slowest ${Math.round(slowestMs)} ms`;
  };
  say(`helm upgrade --wait with a migration: ${counted()}`);
  await helm("rollback", "muster", "1", "--wait", "--timeout", "5m");
  await until("a healthy cluster", async () => (await ask("GET", "/auth/me", undefined, session.token)).user ?? true);
  const { failed, resent } = await running.stop();
  const all = `${counted()}, ${resent} sent again; ${await gateways()}`;
  say(`helm rollback to the older version over the newer schema: ${all}`);
  figures({ "requests failed in upgrade and rollback": failed.length }, [
    "requests in upgrade and rollback",
    running.figures.sent,
    "",
  ]);
  must(failed.length === 0, `no request fails in upgrade and rollback: ${kinds(failed)}`);
}

/** Creates sites one after the other while `run` goes on; returns the ids of those that were acknowledged. */
async function writing(session, run) {
  const acknowledged = [];
  let going = true;
  let n = 0;
  const loop = (async () => {
    while (going) {
      n += 1;
      const name = `Acknowledged ${Date.now()}-${n}`;
      const answer = await call("POST", "/orgs/sites", { orgId: session.org.id, name }, session.token).catch(
        () => null,
      );
      if (answer?.status === 201) acknowledged.push(answer.body.id);
      await sleep(20);
    }
  })();
  try {
    await run(acknowledged);
  } finally {
    going = false;
    await loop;
  }
  return acknowledged;
}

/** Each acknowledged site is there, and each site has its audit row; returns the number of sites. */
async function allStored(session, acknowledged, figure) {
  await until(
    "everything answers again",
    async () => (await call("GET", "/auth/me", undefined, session.token)).status === 200,
  );
  must(acknowledged.length > 50, `enough sites were acknowledged (${acknowledged.length})`);
  const sites = new Set();
  for (let page = 1; ; page += 1) {
    const { data } = await ask(
      "GET",
      `/orgs/sites?orgId=${session.org.id}&limit=100&page=${page}`,
      undefined,
      session.token,
    );
    for (const { id } of data) sites.add(id);
    if (data.length < 100) break;
  }
  const lost = acknowledged.filter((id) => !sites.has(id)).length;
  figures({ [`acknowledged sites lost to ${figure}`]: lost });
  must(lost === 0, "each acknowledged site is there");
  const rows = async () =>
    (await ask("GET", `/audit-logs/logs?action=site.create&orgId=${session.org.id}&limit=1`, undefined, session.token))
      .pagination.total;
  await until("each of them has its audit row", async () => (await rows()) >= sites.size, 90_000);
  await until("agents online again", async () => (await online(session)) === 5, 90_000);
  return sites.size;
}

/** Each pod is deleted by force, one after the other: what was acknowledged is there, and everything recovers. */
export async function forced(session) {
  const acknowledged = await writing(session, async () => {
    for (const name of workloads) {
      await kubectl("delete", "pod", "-l", `app.kubernetes.io/component=${name}`, "--force", "--grace-period=0");
      await kubectl("rollout", "status", `deployment/muster-${name}`, "--timeout=180s");
    }
  });
  const sites = await allStored(session, acknowledged, "pods deleted by force");
  figures({}, ["sites acknowledged before pods were deleted", acknowledged.length, ""]);
  say(
    `every pod deleted by force: ${acknowledged.length} acknowledged sites are there, each of ${sites} has its audit row`,
  );
  await looks();
}

/** NATS, then PostgreSQL, end and start again under load: what was acknowledged is there, and no pod starts again. */
export async function stores(session) {
  const took = [];
  const acknowledged = await writing(session, async (sites) => {
    for (const [name, stop, start] of [
      ["NATS", () => end(join(dir, "nats.pid")), () => begin("nats.sh", 4222)],
      ["PostgreSQL", () => end(join(dir, "postgres/data/postmaster.pid")), () => begin("postgres.sh", 5432)],
    ]) {
      await sleep(2_000);
      await stop();
      await sleep(2_000);
      await start();
      const [startedMs, before] = [performance.now(), sites.length];
      await until(`sites after ${name} is back`, () => sites.length > before);
      took.push(`${name} ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    }
    await sleep(2_000);
  });
  const sites = await allStored(session, acknowledged, "NATS and PostgreSQL that start again");
  say(
    `NATS and PostgreSQL started again under load: writes go on after ${took.join(", ")}; ${acknowledged.length} acknowledged sites are there, each of ${sites} has its audit row`,
  );
}

/** A renewed certificate of the same authority reaches the pods, which show it without a restart; no request fails. */
export async function certificates(session) {
  const running = load(rate / 4, mixture(session));
  await bash(`${join(root, "deploy/kubernetes/cluster/certificates.sh")} ${join(dir, "tls")}`);
  const { serialNumber } = new X509Certificate(readFileSync(join(dir, "tls/tls.crt")));
  await kubectl("apply", "-f", join(dir, "tls/secrets.yaml"));
  const script = `const read = (name) => require("node:fs").readFileSync("/etc/muster/tls/" + name);
    const socket = require("node:tls").connect(
      { host: "muster-tenancy", port: 8080, ca: read("ca.crt"), cert: read("tls.crt"), key: read("tls.key") },
      () => { console.log(socket.getPeerCertificate().serialNumber); socket.end(); });`;
  const shown = () => kubectl("exec", "deployment/muster-gateway", "-c", "gateway", "--", "node", "-e", script);
  await until("the new certificate is shown", async () => (await shown()) === serialNumber, 180_000);
  await sleep(5_000);
  const { sent, failed } = await running.stop();
  figures({ "requests failed while certificates are renewed": failed.length });
  must(failed.length === 0, `no request fails while certificates are renewed: ${kinds(failed)}`);
  say(`certificates renewed without a restart: 0 of ${sent} failed`);
}

/** The gateway's autoscaler adds pods under load, and takes them away after it. */
export async function autoscaler(session) {
  const values = join(root, "charts/muster/ci/cluster-values.yaml");
  const scaling = [
    "--set",
    "services.gateway.autoscaling.enabled=true",
    "--set",
    "services.gateway.autoscaling.maxReplicas=3",
    "--set",
    "services.gateway.autoscaling.minReplicas=1",
    "--set",
    "services.gateway.autoscaling.scaleDownSeconds=5",
    "--set",
    "services.gateway.autoscaling.targetCPUPercent=30",
  ];
  await helm("upgrade", "muster", join(root, "charts/muster"), "-f", values, ...scaling, "--wait", "--timeout", "5m");
  const replicas = async () =>
    Number(await kubectl("get", "deployment/muster-gateway", "-o", "jsonpath={.spec.replicas}"));
  // Cheap requests: less than this a gateway serves without a need for others.
  const running = load(Math.max(120, 1.5 * rate), [() => call("GET", "/auth/me", undefined, session.token)]);
  const most = await until("three gateways under load", async () => ((await replicas()) === 3 ? 3 : 0), 90_000);
  await sleep(10_000);
  running.slower(5);
  await until("fewer gateways without it", async () => (await replicas()) < 3, 120_000);
  const { sent, failed, resent } = await running.stop();
  figures({ "requests failed while gateways are scaled": failed.length });
  must(failed.length === 0, `no request fails while gateways come and go: ${kinds(failed)}`);
  say(
    `the autoscaler took the gateway to ${most} pods under load, and back after it: 0 of ${sent} failed, ${resent} sent again`,
  );
}
