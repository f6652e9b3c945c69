// Heartbeats, releases and rollouts of the example fleet: two programs, versions that went to all devices, one that was
// withdrawn, one that is halted on a system, and one that is on its way.
import { createHash } from "node:crypto";
import { apiOf, eachOf } from "./example-api.mjs";
import { isSilent, loadOf } from "./example-fleet.mjs";

/** Until a device that found no room in a rollout is checked again. */
const betweenRoundsMs = 2_000;
/** Longer than pictures take: devices of a running rollout stay in flight. */
const soakSeconds = 14_400;

/** One heartbeat of every machine that is on. With `isUpdating` those that are offered a version go on with it. */
export async function beat(url, agents, isUpdating = false) {
  const { call } = apiOf(url);
  const on = agents.filter((agent) => !isSilent(agent));
  await eachOf(on, async (agent) => {
    const { id, token, hostname } = agent;
    const [cpu, memory, disk] = loadOf(hostname, Date.now()).map(Math.round);
    const metrics = { "cpu.percent": cpu, "memory.percent": memory, "disk.percent": disk };
    const said = (more = {}) => {
      const { agentVersion, watchdogVersion } = agent;
      return call("POST", `/agents/${id}/heartbeat`, { agentVersion, watchdogVersion, metrics, ...more }, token);
    };
    const [offer] = (await said()).updates ?? [];
    if (!isUpdating || !offer) return;
    const { component, version } = offer;
    if (agent.os === "darwin" && version === "2.5.0") {
      await said({ update: { component, version, state: "rolled_back", error: "exit 78" } });
    } else {
      agent[`${component}Version`] = version;
      await said();
    }
  });
}

const platforms = [
  ["windows", "amd64"],
  ["linux", "amd64"],
  ["darwin", "arm64"],
];

/** Registers a version, which promotes it; `target` stays promoted instead. */
async function publish(call, component, version, target = version) {
  const artifacts = platforms.map(([os, arch]) => {
    const sha256 = createHash("sha256").update(`${component} ${version} ${os}`).digest("hex");
    return { os, arch, size: 1, sha256, name: `${component}-${os}-${arch}` };
  });
  const manifest = JSON.stringify({ version, component, artifacts });
  const origin = `https://releases.example.com/${component}/${version}`;
  const urls = Object.fromEntries(artifacts.map(({ name }) => [name, `${origin}/${name}`]));
  const release = await call("POST", "/agent-versions", { manifest, urls });
  if (target !== version) await call("POST", "/agent-versions/promote", { version: target, component });
  return release;
}

/** Publishes all versions and ends the rollouts of old ones; resolves with the rollout of the newest agent. */
export async function releases(call, orgs) {
  const canary = { name: "Canary", orgIds: [orgs.Globex.orgId] };
  const everyone = { name: "Everyone", os: ["windows", "linux", "darwin"] };
  const rings = [
    canary,
    { name: "A tenth", orgIds: [orgs.Initech.orgId, orgs.Hooli.orgId, orgs["Acme Retail"].orgId] },
    everyone,
  ];
  const begin = (component, version, more) =>
    call("POST", "/agent-versions/rollouts", { component, version, rings: [canary, everyone], ...more });
  const end = ({ id }, how) => call("POST", `/agent-versions/rollouts/${id}/${how}`);

  await publish(call, "watchdog", "1.0.4");
  await publish(call, "watchdog", "1.1.0");
  await publish(call, "agent", "2.3.9");
  await publish(call, "agent", "2.4.1", "2.3.9");
  await end(await begin("agent", "2.4.1", { openRings: 2 }), "complete");
  const { id: withdrawn } = await publish(call, "agent", "2.4.2", "2.4.1");
  await end(await begin("agent", "2.4.2"), "cancel");
  await call("POST", `/agent-versions/${withdrawn}/yank`);
  await publish(call, "agent", "2.4.3", "2.4.1");
  await end(await begin("agent", "2.4.3", { openRings: 2 }), "complete");
  await publish(call, "watchdog", "1.2.0", "1.1.0");
  await publish(call, "agent", "2.5.0", "2.4.3");
  const careful = { name: "Careful", rings, waveSuccessPercent: 95, soakSeconds: 5 };
  const { id: templateId } = await call("POST", "/agent-versions/rollout-templates", careful);
  await call("POST", "/agent-versions/rollout-templates", { name: "Two steps", rings: [canary, everyone] });
  return (await call("POST", "/agent-versions/rollouts", { component: "agent", version: "2.5.0", templateId })).id;
}

/** Lets these machines update until a rollout has succeeded on so many of them. */
async function updateUntil(url, call, id, { agents, wanted }) {
  for (let round = 0; round < 40; round++) {
    await beat(url, agents, true);
    if ((await call("GET", `/agent-versions/rollouts/${id}`)).succeeded >= wanted) return;
    await new Promise((done) => setTimeout(done, betweenRoundsMs));
  }
  throw new Error("a rollout did not go on");
}

/** The first wave of the newest agent goes well until its Macs, which come last, fail. */
export async function beginRollout(url, call, id, first) {
  const others = first.filter(({ os }) => os !== "darwin");
  await updateUntil(url, call, id, { agents: others, wanted: 40 });
  for (let round = 0; round < 3; round++) await beat(url, first, true);
}

/** The watchdog's newest version has gone to the first customer, and to a part of the next two. */
export async function runRollout(url, call, orgs, agents) {
  const ring = (name, ...customers) => ({ name, orgIds: customers.map((customer) => orgs[customer].orgId) });
  const rings = [
    ring("Canary", "Globex"),
    ring("Offices", "Initech", "Hooli"),
    { name: "Everyone", os: ["windows", "linux", "darwin"] },
  ];
  const wanted = { component: "watchdog", version: "1.2.0", rings, openRings: 1, soakSeconds: 0 };
  const { id } = await call("POST", "/agent-versions/rollouts", wanted);
  const of = ({ orgIds }) => agents.filter((agent) => orgIds.includes(agent.orgId));
  const first = of(rings[0]);
  const inUse = first.filter((agent) => !isSilent(agent)).length;
  await updateUntil(url, call, id, { agents: first, wanted: Math.floor(inUse * 0.9) });
  await call("PATCH", `/agent-versions/rollouts/${id}`, { openRings: 2 });
  await updateUntil(url, call, id, { agents: of(rings[1]), wanted: inUse + 5 });
  await call("PATCH", `/agent-versions/rollouts/${id}`, { soakSeconds });
  for (let round = 0; round < 3; round++) await beat(url, of(rings[1]), true);
}
