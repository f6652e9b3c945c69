import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { type EnrolledAgent, enrollAgent } from "../support/enrolled-agent.ts";
import { newOrganization, newTenant, type Tenant } from "../support/enroller.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { totpAt } from "../support/operator.ts";
import { asDatabaseOwner } from "../support/owner-rows.ts";
import { enrollTotp, operator, signedInAs } from "../support/users.ts";

// What docs/agent-releases.md and services/tenancy/devices.md tell a new operator to type, in that order.

const cli = (name: string) => fileURLToPath(new URL(`../../../deploy/cli/${name}`, import.meta.url));
/** Pre-releases, which no other suite's devices are promoted to; newer than all others, which have lower counters. */
const [good, bad] = ["9.8.0-walk.1", "9.8.0-walk.2"];

/** Each look starts a program. */
const patienceMs = 100_000;

let cluster: LentCluster;
let folder: string;
let customers: Tenant[];
beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  folder = await mkdtemp(join(tmpdir(), "muster-walk-"));
  const root = await operator(cluster);
  const first = await newTenant(root);
  const orgId = await newOrganization(root, first.partnerId);
  customers = [first, { ...first, orgId, siteId: "" }];
  const admin = await signedInAs(cluster, "platform-admin");
  const { secret } = await enrollTotp(admin);
  const code = totpAt(secret, Date.now() + 30_000);
  await run("muster.mjs", ["login", "--email", admin.email], `${admin.password}\n${code}\n`);
}, lendMs);
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await cluster?.giveBack();
});

/** Runs a program as it is typed; returns what it printed, and fails when it does. */
async function run(program: string, args: readonly string[], input = "", cwd = folder): Promise<string> {
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    MUSTER_URL: cluster.url,
    RELEASE_SIGNING_KEY: cluster.releaseKey,
  };
  const child = spawn(process.execPath, [cli(program), ...args], { env, cwd });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk) => {
    output.stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    output.stderr += chunk;
  });
  child.stdin.end(input);
  const code = await new Promise((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${output.stderr}`);
  return output.stdout;
}
const muster = (...args: string[]) => run("muster.mjs", args);
const json = async <T>(...args: string[]): Promise<T> => JSON.parse(await muster(...args, "--json")) as T;

/** Signs and publishes an agent, and registers it. */
async function publish(version: string, counter: number): Promise<void> {
  const at = join(cluster.releases, version);
  await mkdir(at, { recursive: true });
  await writeFile(join(at, "muster-agent-linux-amd64"), `agent ${version}\n`);
  const about = ["--component", "agent", "--version", version, "--counter", String(counter)];
  await run("dist/muster-release.js", ["manifest", ...about, "muster-agent-linux-amd64=linux/amd64"], "", at);
  expect(await muster("releases", "sync", "directory", "--release", version)).toContain(version);
}

async function machines(orgId: string, count: number, change: (at: number) => object = () => ({})) {
  const wanted = ["create", "enrollment-keys", "--org", orgId, "name=Fleet", "maxUsage:=200", "--yes"];
  const { key } = await json<{ key: string }>(...wanted);
  const all: EnrolledAgent[] = [];
  for (let at = 0; at < count; at++) all.push(await enrollAgent(cluster, key, change(at)));
  return all;
}

/** Puts an hour that ended some days ago, with one report in it, into the history of a device's metrics. */
async function hourWithMeanCpu(deviceId: string, daysAgo: number, percent: number): Promise<void> {
  const packed = Buffer.alloc(58, 255);
  packed[0] = 1;
  packed[1] = 2 * percent;
  packed[37] = 1;
  packed.fill(2 * percent, 49, 52);
  const hour = Math.floor(Date.now() / 3_600_000) - 24 * daysAgo;
  const insert = "INSERT INTO tenancy.device_metrics (device_id, hour, packed) VALUES ($1, $2, $3)";
  await asDatabaseOwner(cluster, insert, [deviceId, hour, packed]);
}

describe("a new operator, by the command line alone,", () => {
  it("publishes, previews, sees a bad release halt at two customers of twelve devices, and goes back", async () => {
    await publish(good, 701);
    await publish(bad, 702);
    const fleet = (
      await Promise.all(customers.map(({ orgId }) => machines(orgId, 12, () => ({ agentVersion: good }))))
    ).flat();
    const orgIds = customers.map(({ orgId }) => orgId);
    const rings = `rings:=${JSON.stringify([{ name: "Customers", orgIds }])}`;
    expect(await muster("rollouts", "preview", rings)).toMatch(/Customers\s+24\s+24/);

    const { id } = await json<{ id: string }>(
      "create",
      "rollouts",
      "component=agent",
      `version=${bad}`,
      rings,
      "soakSeconds:=0",
    );
    const update = { component: "agent", version: bad, state: "failed", error: "bad_digest" };
    const failed = new Set<string>();
    const halted = async () => {
      for (const device of fleet.filter((each) => !failed.has(each.id))) {
        if ((await device.heartbeat({ agentVersion: good })).body.upgradeTo !== bad) continue;
        failed.add(device.id);
        await device.heartbeat({ agentVersion: good, update });
      }
      const said = await muster("rollouts", "progress", id);
      return /state\s+halted/.test(said) ? said : null;
    };
    const progress = await until("the halt", halted, patienceMs);
    expect(failed.size).toBeGreaterThanOrEqual(3);
    expect(failed.size).toBeLessThan(10);
    expect(progress).toMatch(/Customers\s+true\s+24\s+/);
    expect(await muster("get", "rollout-devices", "--of", id, "state=failed")).toContain("bad_digest");
    const untouched = fleet.find((each) => !failed.has(each.id)) as EnrolledAgent;
    expect(await muster("devices", "decision", untouched.id)).toContain("halted");
    await muster("rollouts", "cancel", id, "--yes");

    // One machine runs it all the same; its organization goes back to the version before.
    const [stray] = fleet as [EnrolledAgent];
    await stray.heartbeat({ agentVersion: bad });
    const about = ["--component", "agent", "--version", good, "--counter", "702", "--expires", "2100-01-01T00:00:00Z"];
    await run("dist/muster-release.js", ["rollback", ...about]);
    expect(await readFile(join(folder, "rollback.note"), "utf8")).toContain(good);
    await muster("releases", "pin", good, "--org", String(orgIds[0]), "--rollback-note", "rollback.note");
    const back = new RegExp(`agent\\s+${bad}\\s+${good}\\s+offered`);
    const mayGoBack = async () => back.test(await muster("devices", "decision", stray.id));
    await until("the way back", mayGoBack, patienceMs);
    expect((await stray.heartbeat({ agentVersion: bad })).body).toMatchObject({ upgradeTo: good });
    await stray.heartbeat({ agentVersion: good });
    const returned = await muster("devices", "decision", stray.id);
    expect(returned).toMatch(new RegExp(`agent\\s+${good}\\s+${good}\\s+up_to_date`));
    await muster("releases", "pin", good, "--org", String(orgIds[0]));
  }, 300_000);

  it("approves fifty machines that were installed again, and reads a device's processor of last week", async () => {
    const [, { orgId }] = customers as [Tenant, Tenant];
    const ids = Array.from({ length: 50 }, () => randomUUID());
    const [first] = await machines(orgId, 50, (at) => ({ hardwareId: ids[at] }));
    await machines(orgId, 50, (at) => ({ hardwareId: ids[at] }));
    const waiting = await json<{ id: string }[]>("get", "devices", "status=quarantined", "--org", orgId, "--all");
    expect(waiting).toHaveLength(50);
    const said = await run("muster.mjs", ["devices", "review", "approve"], waiting.map(({ id }) => id).join("\n"));
    expect(said.match(/ done$/gm)).toHaveLength(50);
    expect(await json("get", "devices", "status=quarantined", "--org", orgId, "--all")).toEqual([]);
    const id = String(first?.id);
    await hourWithMeanCpu(id, 3, 42.5);
    const from = new Date(Date.now() - 7 * 86_400_000).toISOString();
    const lastWeek = await muster("devices", "metrics", id, "--from", from, "--step", "1h");
    expect(lastWeek).toMatch(/T\d\d:00:00\.000Z\s+42\.5\s+42\.5/);
    expect(await json("devices", "metrics", id, "--from", from, "--step", "1d")).toHaveLength(1);
  }, 300_000);
});
