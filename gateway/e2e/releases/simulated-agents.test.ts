import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { defaultOptions, type Fleet, type SimOptions, startFleet } from "@muster/agent-sim";
import { generateNoteKey, noteKeys, signNote } from "@muster/kit";
import { until } from "@muster/testing";
import pg from "pg";
import S3rver from "s3rver";
import { agentMaker } from "../support/agent-maker.ts";
import { type Api, api } from "../support/client.ts";
import { admin, type Cluster, ownCluster, type StackFile } from "../support/cluster.ts";
import { enrollAgent } from "../support/enrolled-agent.ts";
import { newTenant, publishedEvents, type Tenant } from "../support/enroller.ts";
import { prepareOperator } from "../support/operator.ts";
import { enrollTotp, signedInAs } from "../support/users.ts";
import { buildRelease, publish } from "./release-folder.ts";

// Two gateways, binaries in a bucket, and every process fourteen hours ahead of UTC.

const { signer } = noteKeys(generateNoteKey("releases.example.test"));
const patienceMs = 60_000;

let folder: string;
let bucket: S3rver;
let cluster: Cluster & { stop(): Promise<void> };
let root: Api;
let owner: pg.Client;
const fleets: Fleet[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "muster-releases-"));
  const configureBuckets = [{ name: "binaries", configs: [] }];
  bucket = new S3rver({ port: 0, address: "127.0.0.1", silent: true, directory: join(folder, "s3"), configureBuckets });
  const { port } = await bucket.run();
  cluster = await ownCluster({
    MUSTER_REPLICAS: "gateway=2",
    TZ: "Pacific/Kiritimati",
    HEARTBEAT_INTERVAL_SECONDS: "1",
    IN_FLIGHT_MAX_INGEST: "2000",
    RELEASE_DIRECTORY: join(folder, "published"),
    RELEASE_MANIFEST_KEYS: signer.text,
    // Many of these updates never end.
    ROLLOUT_START_BUDGET: "0",
    ROLLOUT_FIRST_DEVICE_ALONE: "false",
    BINARY_SOURCE: "local",
    RELEASE_S3_BUCKET: "binaries",
    RELEASE_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    RELEASE_S3_PATH_STYLE: "true",
    RELEASE_S3_ACCESS_KEY_ID: "S3RVER",
    RELEASE_S3_SECRET_ACCESS_KEY: "S3RVER",
  });
  root = api(cluster, (await prepareOperator(cluster, admin)).accessToken);
  owner = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
  await owner.connect();
}, 240_000);
afterEach(async () => {
  await Promise.all(fleets.splice(0).map((fleet) => fleet.stop()));
});
afterAll(async () => {
  await owner?.end();
  await cluster?.stop();
  await bucket?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
}, 60_000);

let counter = 0;
/** Publishes a version of components and syncs it, which promotes it. */
async function release(version: string, ...components: string[]): Promise<void> {
  const built = components.map((component) => buildRelease(component, version, { signer, counter: ++counter }));
  await publish(join(folder, "published"), ...built);
  const synced = await root.call("POST", `/agent-versions/sync-directory?version=${version}`);
  expect([synced.status, synced.body.version]).toEqual([200, version]);
}

async function keyOf({ orgId, siteId }: Tenant): Promise<string> {
  return String(
    (await root.call("POST", "/enrollment-keys", { orgId, siteId, name: "Key", maxUsage: 1_000 })).body.key,
  );
}

/** One simulated agent of an organization that runs 1.0.0; the same one again under the same name. */
function simulate(name: string, enrollmentKey: string | null, change: Partial<SimOptions> = {}): Fleet {
  const fleet = startFleet({
    ...defaultOptions,
    url: cluster.url,
    enrollmentKey,
    stateFile: join(folder, name),
    os: "linux",
    channel: false,
    logsSeconds: 0,
    eventsSeconds: 0,
    restartSeconds: 1,
    releaseKeys: [signer.text],
    ...change,
  });
  fleets.push(fleet);
  return fleet;
}
const idOf = (fleet: Fleet) =>
  until("the agent to enroll", () => fleet.agents[0]?.identity.agentId ?? null, patienceMs);
const deviceOf = async (id: string) => (await root.call("GET", `/devices/${id}`)).body;
const becomes = (id: string, wanted: Record<string, unknown>) =>
  until(
    `device ${JSON.stringify(wanted)}`,
    async () => {
      const device = await deviceOf(id);
      return Object.entries(wanted).every(([key, value]) => device[key] === value);
    },
    patienceMs,
  );
const decisionOf = async (id: string) =>
  (await root.call("GET", `/devices/${id}/update-decision`)).body as {
    components: { rule: string; target: string }[];
    attempts: { state: string; reason: string; version: string }[];
  };
const ruleOf = async (id: string) => (await decisionOf(id)).components[0]?.rule;
/** Heartbeats that the agent sends from now on. */
const beats = async (fleet: Fleet, count = 2) => {
  const before = fleet.figures.total("heartbeats");
  await until("heartbeats", () => fleet.figures.total("heartbeats") >= before + count, patienceMs);
};
/** Earlier decisions are invalid from now on. */
const replan = () =>
  owner.query(
    `WITH raised AS (UPDATE agent_release.plan SET epoch = epoch + 1 RETURNING epoch)
     INSERT INTO agent_release.plan_change (epoch, scope) SELECT epoch, 'all' FROM raised`,
  );
/** As if every device that runs its new version had done so for three minutes. */
async function soaked(): Promise<void> {
  await owner.query("UPDATE agent_release.update_attempt SET returned_at = returned_at - interval '3 minutes'");
  await replan();
}
const settingsOf = (orgId: string) => `/orgs/organizations/${orgId}/agent-updates`;

describe("a simulated agent", () => {
  it("updates from publication to the new version: updating, then online at once, with its watchdog after it", async () => {
    const fleet = simulate("ok", await keyOf(await newTenant(root)), { watchdogVersion: "1.0.0" });
    const id = await idOf(fleet);
    await becomes(id, { status: "online", agentVersion: "1.0.0", watchdogVersion: "1.0.0" });
    await release("1.1.0", "agent", "watchdog");
    await becomes(id, { status: "updating" });
    await becomes(id, { status: "online", agentVersion: "1.1.0" });
    // One component at a time: the watchdog waits until the agent has soaked.
    expect((await decisionOf(id)).components[1]).toMatchObject({ rule: "in_progress", target: "1.1.0" });
    await soaked();
    await becomes(id, { watchdogVersion: "1.1.0" });
    const reported = async () =>
      (await publishedEvents(cluster, id)).filter((subject) => subject.endsWith(".device.updated"));
    await until("both beginnings to be reported", async () => (await reported()).length >= 2);
    const [attempt] = (await decisionOf(id)).attempts.filter(({ state }) => state === "succeeded");
    expect(attempt).toMatchObject({ version: "1.1.0" });
  }, 120_000);

  it("with updates turned off stays as it is, also after it was restarted; turned on it updates", async () => {
    const first = simulate("off", await keyOf(await newTenant(root)), { update: "off" });
    const id = await idOf(first);
    await root.call("POST", `/devices/${id}/auto-update`, { enabled: false });
    await first.stop();
    const second = simulate("off", null);
    await beats(second, 3);
    expect([await ruleOf(id), (await deviceOf(id)).agentVersion]).toEqual(["auto_update_off", "1.0.0"]);
    await root.call("POST", `/devices/${id}/auto-update`, { enabled: true });
    await becomes(id, { status: "online", agentVersion: "1.1.0" });
  }, 120_000);

  it("in a pinned organization stays at its pin, and under `manual` updates only on request", async () => {
    const [pinned, manual] = [await newTenant(root), await newTenant(root)];
    await root.call("POST", "/agent-versions/promote", { version: "1.1.0" });
    await release("1.0.1", "agent");
    await root.call("PUT", settingsOf(pinned.orgId), { agentTarget: "1.0.1" });
    await root.call("PUT", settingsOf(manual.orgId), { updatePolicy: "manual" });
    const [there, here] = [simulate("pinned", await keyOf(pinned)), simulate("manual", await keyOf(manual))];
    const [pinnedId, manualId] = [await idOf(there), await idOf(here)];
    await becomes(pinnedId, { status: "online", agentVersion: "1.0.1" });
    await Promise.all([beats(there), beats(here)]);
    expect([(await deviceOf(pinnedId)).agentVersion, (await deviceOf(manualId)).agentVersion]).toEqual([
      "1.0.1",
      "1.0.0",
    ]);
    expect(await ruleOf(manualId)).toBe("policy_manual");
    expect((await root.call("POST", `/devices/${manualId}/update`)).status).toBe(202);
    await becomes(manualId, { status: "online", agentVersion: "1.1.0" });
  }, 120_000);

  it("waits for its partner's window in UTC, whatever its organization's settings and the time zone", async () => {
    const tenant = await newTenant(root);
    const partner = await signedInAs(cluster, "partner-admin", { partnerId: tenant.partnerId, orgAccess: "all" });
    await enrollTotp(partner);
    const minutes = new Date().getUTCHours() * 60 + new Date().getUTCMinutes();
    const time = (at: number) => new Date(((at + 1_440) % 1_440) * 60_000).toISOString().slice(11, 16);
    // A window that is open now in the processes' time zone, but not in UTC.
    const elsewhere = { windowStart: time(minutes + 14 * 60 - 30), windowEnd: time(minutes + 14 * 60 + 30) };
    await partner.api.call("PUT", "/orgs/partners/me/agent-updates", elsewhere);
    await root.call("PUT", settingsOf(tenant.orgId), { windowStart: "00:00", windowEnd: "24:00" });
    const fleet = simulate("window", await keyOf(tenant));
    const id = await idOf(fleet);
    await beats(fleet, 3);
    expect([await ruleOf(id), (await deviceOf(id)).agentVersion]).toEqual(["window_closed", "1.0.0"]);
    await partner.api.call("PUT", "/orgs/partners/me/agent-updates", {});
    await becomes(id, { status: "online", agentVersion: "1.1.0" });
  }, 120_000);

  it("tries again when it finds its file locked; one that rolls back and one whose watchdog restores report it", async () => {
    const key = await keyOf(await newTenant(root));
    const [locked, undone, restored] = [
      simulate("locked", key, { update: "locked" }),
      simulate("rolls-back", key, { update: "rolls-back" }),
      simulate("watchdog", key, { update: "watchdog" }),
    ];
    const ids = await Promise.all([locked, undone, restored].map(idOf));
    await becomes(String(ids[0]), { status: "online", agentVersion: "1.1.0" });
    const { attempts } = await decisionOf(String(ids[0]));
    expect(attempts.map(({ state }) => state)).toEqual(["returned", "deferred", "deferred"]);
    for (const id of ids.slice(1)) {
      await until(
        "the agent to report it",
        async () => (await decisionOf(String(id))).attempts[0]?.reason === "rolled_back",
        patienceMs,
      );
      expect(await deviceOf(String(id))).toMatchObject({ status: "online", agentVersion: "1.0.0" });
      expect(await ruleOf(String(id))).toBe("back_off");
    }
  }, 120_000);

  it("refuses what it should not install, reports the reason, and the rollout counts it", async () => {
    await release("1.2.0", "agent");
    const tenant = await newTenant(root);
    const key = await keyOf(tenant);
    const { rows } = await owner.query<{ manifest: string; id: string }>(
      "SELECT id, manifest FROM agent_release.release WHERE component = 'agent' AND version = '1.2.0'",
    );
    const release12 = rows[0] as { manifest: string; id: string };
    const line = JSON.parse(release12.manifest.split("\n")[0] as string);
    const failed = async () => {
      const { rows: found } = await owner.query<{ failed: number }>(
        "SELECT failed FROM agent_release.rollout WHERE release_id = $1",
        [release12.id],
      );
      return found[0]?.failed;
    };
    // As an attacker would who controls the platform, but not the keys.
    const tamper = async (manifest: string) => {
      await owner.query("UPDATE agent_release.release SET manifest = $2 WHERE id = $1", [release12.id, manifest]);
      await replan();
    };
    const untrusted = noteKeys(generateNoteKey("releases.example.test")).signer;
    const signed = (change: object, by = signer) => signNote(`${JSON.stringify({ ...line, ...change })}\n`, by);
    // The platform verifies the signature itself, and offers nothing.
    await tamper(signed({}, untrusted));
    const unoffered = simulate("refuses-bad_signature", key);
    const unofferedId = await idOf(unoffered);
    await beats(unoffered, 3);
    expect([await ruleOf(unofferedId), (await deviceOf(unofferedId)).agentVersion]).toEqual([
      "release_untrusted",
      "1.0.0",
    ]);
    await unoffered.stop();
    const cases: [string, string][] = [
      ["expired", signed({ expires: "2020-01-01T00:00:00Z" })],
      ["wrong_component", signed({ component: "watchdog" })],
    ];
    for (const [at, [reason, manifest]] of cases.entries()) {
      await tamper(manifest);
      const id = await idOf(simulate(`refuses-${reason}`, key));
      await until(
        `the platform to receive ${reason}`,
        async () => (await decisionOf(id)).attempts[0]?.reason === reason,
        patienceMs,
      );
      expect(await deviceOf(id)).toMatchObject({ status: "online", agentVersion: "1.0.0" });
      expect(await failed()).toBe(at + 1);
    }
    // Signed, but older than what the agent has installed: neither promoted nor offered.
    await tamper(release12.manifest);
    const fleet = simulate("refuses-older", key);
    const id = await idOf(fleet);
    await becomes(id, { status: "online", agentVersion: "1.2.0" });
    await publish(join(folder, "published"), buildRelease("agent", "1.3.0", { signer, counter: 0 }));
    await soaked();
    await beats(fleet);
    await root.call("POST", "/agent-versions/sync-directory?version=1.3.0");
    const { data, targets } = (await root.call("GET", "/agent-versions?component=agent")).body as {
      data: { version: string; untrusted: string | null }[];
      targets: { agent: string };
    };
    expect(targets.agent).toBe("1.2.0");
    expect(data.find(({ version }) => version === "1.3.0")?.untrusted).toMatch(/^has the counter 0, lower than \d+ of/);
    await root.call("PUT", settingsOf(tenant.orgId), { agentTarget: "1.3.0" });
    await beats(fleet);
    expect(await ruleOf(id)).toBe("release_untrusted");
    await root.call("PUT", settingsOf(tenant.orgId), {});
  }, 180_000);
});

describe("the platform", () => {
  it("offers through the other gateway, too, what was promoted through this one", async () => {
    const key = await keyOf(await newTenant(root));
    const second = { ...cluster, url: String((await cluster.stack()).gateways[1]?.url) };
    const agent = await enrollAgent(second, key, { agentVersion: "1.4.0" });
    const beat = () => agent.heartbeat({ agentVersion: "1.4.0" });
    expect((await beat()).body.upgradeTo).toBeNull();
    await beat();
    await release("1.5.0", "agent");
    await until("the other gateway to know", async () => (await beat()).body.upgradeTo === "1.5.0", 5_000);
  }, 60_000);

  it("offers a release to exactly five of 200 that heartbeat at once where five may update", async () => {
    const version = "2.0.0-rc.1";
    await release("1.9.0", "helper");
    await release(version, "helper");
    const tenant = await newTenant(root);
    const limits = { component: "helper", version, maxInFlight: 5, rings: [{ name: "one", orgIds: [tenant.orgId] }] };
    const enroll = await agentMaker(cluster);
    const agents = [await enroll(tenant)];
    expect((await root.call("POST", "/agent-versions/rollouts", limits)).status).toBe(201);
    while (agents.length < 200) agents.push(...(await Promise.all(Array.from({ length: 10 }, () => enroll(tenant)))));
    const says = { agentVersion: "9.0.0", helperVersion: "1.9.0" };
    const offered = new Set<string>();
    const accepted = new Set<string>();
    // A busy machine may answer 503, or before agent-release has decided: what was granted is offered again.
    for (let round = 0; round < 10 && (round < 2 || accepted.size < agents.length); round++) {
      await Promise.all(
        agents.map(async ({ api: agent, deviceId }) => {
          const { status, body } = await agent.call("POST", `/agents/${deviceId}/heartbeat`, says);
          if (status === 200) accepted.add(deviceId);
          if (body.helperUpgradeTo === version) offered.add(deviceId);
        }),
      );
    }
    expect(accepted.size).toBe(agents.length);
    const { rows } = await owner.query<{ in_flight: number }>(
      "SELECT in_flight FROM agent_release.rollout WHERE kind = 'staged' AND max_in_flight = 5",
    );
    expect([offered.size, rows]).toEqual([5, [{ in_flight: 5 }]]);
  }, 120_000);
});

const pidOf = (stack: StackFile, name: string) =>
  name === "gateway" ? (stack.gateways[0]?.pid ?? 0) : (stack.services[name]?.pid ?? 0);

async function killed(name: string): Promise<void> {
  const before = pidOf(await cluster.stack(), name);
  process.kill(before, "SIGKILL");
  await until(`another ${name}`, async () => ![0, before].includes(pidOf(await cluster.stack(), name)), patienceMs);
  await until(
    "a healthy cluster",
    async () => {
      const reply = await fetch(`${cluster.url}/health`).catch(() => null);
      return reply?.ok && ((await reply.json()) as { status: string }).status === "ok";
    },
    patienceMs,
  );
}

/** Rollouts whose counter is another number than that of their open attempts. */
async function miscounted(): Promise<unknown[]> {
  const { rows } = await owner.query(`
    SELECT r.id, r.in_flight, count(a.id)::int AS open FROM agent_release.rollout r
    LEFT JOIN agent_release.update_attempt a ON a.rollout_id = r.id AND a.ended_at IS NULL
    GROUP BY r.id, r.in_flight HAVING r.in_flight <> count(a.id)`);
  return rows;
}

describe("a tenant that is purged", () => {
  it("leaves no settings, updates and requests behind, and its neighbour has its own", async () => {
    const [gone, kept] = [await newTenant(root), await newTenant(root)];
    for (const tenant of [gone, kept]) {
      await root.call("PUT", settingsOf(tenant.orgId), { agentTarget: "latest" });
      const agent = await enrollAgent(cluster, await keyOf(tenant), { agentVersion: "1.0.0" });
      await until("an offer", async () => (await agent.heartbeat()).body.upgradeTo, patienceMs);
      expect((await root.call("POST", `/devices/${agent.id}/update`)).status).toBe(202);
    }
    const tables = ["update_settings", "update_attempt", "update_request"];
    const rowsOf = ({ orgId }: Tenant) =>
      Promise.all(
        tables.map(async (table) => {
          const text = `SELECT count(*)::int AS n FROM agent_release.${table} WHERE org_id = $1`;
          return (await owner.query<{ n: number }>(text, [orgId])).rows[0]?.n;
        }),
      );
    expect([await rowsOf(gone), await rowsOf(kept)]).toEqual([
      [1, 1, 1],
      [1, 1, 1],
    ]);
    const orgs = [gone.orgId, kept.orgId];
    await owner.query("UPDATE agent_release.update_attempt SET deadline = now() WHERE org_id = ANY ($1)", [orgs]);
    await until("the silent updates to end", async () => {
      const open = "SELECT FROM agent_release.update_attempt WHERE org_id = ANY ($1) AND ended_at IS NULL";
      return (await owner.query(open, [orgs])).rowCount === 0;
    });
    expect((await root.call("DELETE", `/orgs/organizations/${gone.orgId}`)).status).toBe(200);
    expect(await rowsOf(gone)).toEqual([1, 1, 1]);
    // As if that had been a month ago; tenancy looks when it starts.
    await owner.query("UPDATE tenancy.organizations SET deleted_at = deleted_at - interval '31 days' WHERE id = $1", [
      gone.orgId,
    ]);
    await killed("tenancy");
    await until("nothing to be left", async () => (await rowsOf(gone)).every((n) => n === 0), patienceMs);
    expect(await rowsOf(kept)).toEqual([1, 1, 1]);
    expect(await miscounted()).toEqual([]);
  }, 120_000);
});

describe("a process that is killed between the grant and the reply", () => {
  it.each(["agent-release", "tenancy", "gateway"])(
    "loses no offer and doubles none: %s",
    async (name) => {
      const agent = await enrollAgent(cluster, await keyOf(await newTenant(root)), { agentVersion: "1.0.0" });
      const version = `3.${["agent-release", "tenancy", "gateway"].indexOf(name)}.0`;
      await release(version, "agent");
      // The killed process has just restarted: the first calls may still fail.
      await until(
        "a heartbeat to be taken",
        async () => {
          const { status, body } = await agent.heartbeat({ agentVersion: version });
          // A device has 120 calls a minute: those of a gateway that just came back are not spent in one second.
          if (status !== 200) await delay(500);
          return body.status === "online" && body.upgradeTo === null;
        },
        patienceMs,
      );
      // Tenancy cannot record the update's begin, which writes to its outbox: the grant is committed by then.
      const holder = new pg.Client({ connectionString: (await cluster.stack()).databaseUrl });
      await holder.connect();
      await holder.query("BEGIN");
      await holder.query("LOCK TABLE tenancy.outbox IN SHARE MODE");
      await owner.query("UPDATE tenancy.devices SET agent_version = '1.0.0', version = version + 1 WHERE id = $1", [
        agent.id,
      ]);
      const pending = agent.heartbeat().catch(() => null);
      await until("the grant", async () => {
        const { rows } = await owner.query(
          "SELECT FROM agent_release.update_attempt WHERE device_id = $1 AND ended_at IS NULL",
          [agent.id],
        );
        return rows.length > 0;
      });
      const restarted = killed(name);
      await holder.query("ROLLBACK");
      await holder.end();
      await Promise.all([pending, restarted]);
      const offers = await until(
        "the offer",
        async () => {
          const reply = await agent.heartbeat().catch(() => null);
          const updates = (reply?.body.updates ?? []) as { attemptId: string }[];
          return updates.length > 0 ? updates : null;
        },
        patienceMs,
      );
      const { updates } = (await agent.heartbeat()).body;
      const { rows: attempts } = await owner.query(
        "SELECT state, reason FROM agent_release.update_attempt WHERE device_id = $1",
        [agent.id],
      );
      expect(attempts).toEqual([{ state: "offered", reason: null }]);
      expect(updates).toEqual(offers);
      expect(await miscounted()).toEqual([]);
    },
    180_000,
  );
});

const python = spawnSync("python3", ["--version"]).status === 0 ? it : it.skip;

describe("an agent in another language, written from the documents", () => {
  python(
    "enrolls, rotates, posts, answers a live query, verifies and downloads an update",
    async () => {
      const program = fileURLToPath(new URL("../../../deploy/clients/agent/agent.py", import.meta.url));
      const key = await keyOf(await newTenant(root));
      // Before its first heartbeat: tests before may have promoted others, which it would be offered.
      await release("9.0.0", "agent");
      const child = spawn("python3", [program, cluster.url, key, signer.text], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
      const steps: Record<string, string>[] = [];
      for await (const line of createInterface({ input: child.stdout })) {
        const step = JSON.parse(line) as Record<string, string>;
        steps.push(step);
        if (step.step !== "connected") continue;
        const id = steps.find(({ deviceId }) => deviceId)?.deviceId;
        const { status, body } = await root.call("GET", `/system-tools/devices/${id}/eventlogs`);
        expect([status, body.data]).toEqual([200, [expect.objectContaining({ name: "python", recordCount: 1 })]]);
      }
      expect(await ended).toBe(0);
      expect(steps.map(({ step }) => step)).toEqual([
        "online",
        "posted",
        "connected",
        "answered",
        "offered",
        "updated",
      ]);
      const id = String(steps[0]?.deviceId);
      await becomes(id, { agentVersion: "9.0.0" });
    },
    120_000,
  );
});
