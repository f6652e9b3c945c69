// node inside.mjs PLAN: process 1 of namespaces of its own. Starts the services of a compose file in the order and with
// the environment that compose-go returned, uses the cluster, stops it, and starts it once more.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { must } from "../tools.mjs";
import { useCluster } from "../use-cluster.mjs";
import { Container } from "./container.mjs";

const plan = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { work, services, images } = plan;
const healthyMs = 180_000;
const ip = (...args) => execFileSync("ip", args, { stdio: "pipe" });
const addressOf = new Map(services.map(({ name }, at) => [name, `10.98.0.${at + 10}`]));

/** A bridge, and for each service a network namespace with an address on it. */
function makeNetwork() {
  ip("link", "set", "lo", "up");
  // Names of network namespaces are files there.
  execFileSync("mount", ["-t", "tmpfs", "tmpfs", "/run"]);
  ip("link", "add", "bridge0", "type", "bridge");
  ip("addr", "add", "10.98.0.1/24", "dev", "bridge0");
  ip("link", "set", "bridge0", "up");
  for (const [at, { name }] of services.entries()) {
    ip("netns", "add", name);
    ip("link", "add", `veth${at}`, "type", "veth", "peer", "name", "eth0", "netns", name);
    ip("link", "set", `veth${at}`, "master", "bridge0", "up");
    for (const args of [
      ["addr", "add", `${addressOf.get(name)}/24`, "dev", "eth0"],
      ["link", "set", "eth0", "up"],
      ["link", "set", "lo", "up"],
    ])
      ip("-n", name, ...args);
  }
  const hosts = [["localhost", "127.0.0.1"], ...addressOf].map(([name, address]) => `${address} ${name}\n`);
  writeFileSync(join(work, "hosts"), hosts.join(""));
}

/** What a service is as a container: the compose file's word before the image's. */
function describe({ name, service }) {
  const image = images[service.image];
  const environment = Object.entries(service.environment ?? {}).map(([key, value]) => `${key}=${value ?? ""}`);
  const own = (service.volumes ?? []).map(({ source, target, read_only: readOnly }) => ({
    source: volumeOf(source, image.volumeOwners?.[target]),
    target,
    readOnly,
  }));
  return {
    name,
    work,
    root: image.root,
    args: [...(service.entrypoint ?? image.Entrypoint ?? []), ...(service.command ?? image.Cmd ?? [])],
    env: [...(image.Env ?? []), ...environment],
    user: service.user || image.User,
    cwd: image.WorkingDir ?? "/",
    readOnly: service.read_only ?? false,
    tmpfs: service.tmpfs ?? [],
    mounts: [...own, { source: join(work, "hosts"), target: "/etc/hosts", readOnly: true }],
  };
}

/** The folder of a named volume; it belongs to whom its place in the image belongs to, else to root. */
function volumeOf(source, owner) {
  const folder = join(work, "volumes", source);
  mkdirSync(folder, { recursive: true });
  if (owner !== undefined) execFileSync("chown", ["-R", owner, folder]);
  return folder;
}

const running = new Map();
const conditions = {
  service_started: async () => undefined,
  service_completed_successfully: async (name) => {
    const container = running.get(name);
    must((await container.ended) === 0, `${name} failed: ${container.output()}`);
  },
  service_healthy: (name) => healthy(name),
};

async function healthy(name) {
  const { service } = services.find((each) => each.name === name);
  const [kind, ...test] = service.healthcheck.test;
  must(kind === "CMD", `${name}'s health is asked by ${kind}`);
  const deadline = Date.now() + healthyMs;
  while (running.get(name).exec(test, images[service.image].Env ?? []) !== 0) {
    must(Date.now() < deadline, `${name} is not healthy: ${running.get(name).output()}`);
    await delay(500);
  }
}

let isStopping = false;
function start(each) {
  const container = new Container(describe(each));
  running.set(each.name, container);
  if (each.service.restart !== "unless-stopped") return;
  void container.ended.then(async () => {
    if (isStopping) return;
    process.stdout.write(`${each.name} ended and starts again: ${container.output()}\n`);
    await delay(1_000);
    await container.stop();
    if (!isStopping) start(each);
  });
}

async function up() {
  isStopping = false;
  for (const each of services) {
    for (const [name, { condition }] of Object.entries(each.service.depends_on ?? {}))
      await conditions[condition](name);
    start(each);
  }
  for (const { name, service } of services) if (service.healthcheck) await healthy(name);
}

async function down() {
  isStopping = true;
  for (const { name } of [...services].reverse()) await running.get(name).stop();
}

/** What `ports` publishes, here on loopback; in a thread, since programs that are waited for use it. */
function publish() {
  const ports = services.flatMap(({ name, service }) =>
    (service.ports ?? []).map(({ target, published }) => ({ address: addressOf.get(name), target, published })),
  );
  new Worker(new URL("publish.mjs", import.meta.url), { workerData: ports });
}

const say = (line) => process.stdout.write(`${line}\n`);
const secretFile = () => readFileSync(join(work, "volumes/keys/keys.json"), "utf8");
try {
  makeNetwork();
  publish();
  const began = performance.now();
  await up();
  say(`all ${services.length} services are up after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const { adminPassword: password } = JSON.parse(secretFile());
  const before = secretFile();
  const found = await useCluster({ ...plan.release, say }, { url: "http://localhost:3000", password, work });
  await down();
  await up();
  must(secretFile() === before, "a second start made other keys");
  await found();
  say("after a second start keys and records are the same");
  await down();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(1);
}
