import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { noteKeys, signNote } from "@muster/kit";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import { type EnrolledAgent, enrollAgent } from "../support/enrolled-agent.ts";
import { newTenant, type Tenant } from "../support/enroller.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { operator } from "../support/users.ts";
import { buildRelease, publish } from "./release-folder.ts";

/** Older than all that is promoted, and a pre-release, which is never promoted by itself. */
const target = "0.3.0-ahead.1";
const [older, newer] = ["0.2.0", "0.3.0-ahead.2"];
const rollouts = "/agent-versions/rollouts";

let cluster: LentCluster;
let root: Api;
beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  root = await operator(cluster);
  const { signer } = noteKeys(cluster.releaseKey);
  await publish(cluster.releases, buildRelease("agent", target, { signer }));
  const synced = await root.call("POST", `/agent-versions/sync-directory?version=${target}`);
  expect(synced).toMatchObject({ status: 200, body: { version: target } });
}, lendMs);
afterAll(() => cluster?.giveBack());

const rollbackNote = (scope: string) => {
  const fields = { component: "agent", version: target, counter: 0, scope, expires: "2100-01-01T00:00:00Z" };
  return signNote(`${JSON.stringify(fields)}\n`, noteKeys(cluster.releaseKey).signer);
};
const pin = ({ orgId }: Tenant, change: object = {}) =>
  root.call("PUT", `/orgs/organizations/${orgId}/agent-updates`, { agentTarget: target, ...change });

async function agentsIn({ orgId, siteId }: Tenant, ...versions: string[]): Promise<EnrolledAgent[]> {
  const { body } = await root.call("POST", "/enrollment-keys", { orgId, siteId, name: "Key", maxUsage: 10 });
  const made = versions.map((agentVersion) => enrollAgent(cluster, String(body.key), { agentVersion }));
  return Promise.all(made);
}

/** The organization's devices that run an older version, the same and a newer one, and those that failed. */
async function states({ orgId }: Tenant): Promise<string[][]> {
  const listed = ["behind", "current", "ahead", "failed"].map(async (state) => {
    const { status, body } = await root.call("GET", `/devices?orgId=${orgId}&updateState=${state}`);
    expect(status).toBe(200);
    return (body.data as { id: string }[]).map(({ id }) => id);
  });
  return Promise.all(listed);
}
const decisionOf = async ({ id }: EnrolledAgent) => (await root.call("GET", `/devices/${id}/update-decision`)).body;

describe("a device that runs a newer version than its target", () => {
  it("is ahead in lists and in its decision, and goes back by a pin with a rollback note", async () => {
    const tenant = await newTenant(root);
    const [ahead, late, current] = (await agentsIn(tenant, newer, older, target)) as [
      EnrolledAgent,
      EnrolledAgent,
      EnrolledAgent,
    ];
    expect((await pin(tenant)).status).toBe(200);
    await until("the state of each", async () => {
      await ahead.heartbeat({ agentVersion: newer });
      await late.heartbeat({ agentVersion: older });
      await current.heartbeat({ agentVersion: target });
      return isDeepStrictEqual(await states(tenant), [[late.id], [current.id], [ahead.id], []]);
    });
    expect((await root.call("GET", `/devices/${ahead.id}`)).body).toMatchObject({ updateState: "ahead" });
    expect((await ahead.heartbeat({ agentVersion: newer })).body).toMatchObject({ upgradeTo: null, updates: [] });
    expect(await decisionOf(ahead)).toMatchObject({
      components: [{ component: "agent", current: newer, target, rule: "ahead_of_target" }, {}, {}],
      attempts: [],
    });

    const note = rollbackNote(tenant.orgId);
    expect((await pin(tenant, { allowDowngrade: true, rollbackNote: note })).status).toBe(200);
    await until("the offer", async () => (await ahead.heartbeat({ agentVersion: newer })).body.upgradeTo === target);
    expect((await ahead.heartbeat({ agentVersion: target })).body).toMatchObject({ status: "online", upgradeTo: null });
    expect(await decisionOf(ahead)).toMatchObject({
      components: [{ current: target, rule: "up_to_date" }, {}, {}],
      attempts: [{ version: target, fromVersion: newer }],
    });
    await until("no device to be ahead", async () => {
      await ahead.heartbeat({ agentVersion: target });
      return (await states(tenant))[2]?.length === 0;
    });
  }, 60_000);

  it("goes back by a rollout with a rollback note, whatever is promoted", async () => {
    const tenant = await newTenant(root);
    const [agent] = (await agentsIn(tenant, newer)) as [EnrolledAgent];
    const wanted = {
      ...{ component: "agent", version: target, soakSeconds: 0, allowDowngrade: true },
      rings: [{ name: "One", orgIds: [tenant.orgId] }],
    };
    expect(await root.call("POST", rollouts, wanted)).toMatchObject({
      status: 400,
      body: { code: "rollback_note_required" },
    });
    expect(await root.call("POST", rollouts, { ...wanted, rollbackNote: rollbackNote(tenant.orgId) })).toMatchObject({
      status: 400,
      body: { details: { fieldErrors: { rollbackNote: ["The note is for another organization"] } } },
    });
    const { status, body } = await root.call("POST", rollouts, { ...wanted, rollbackNote: rollbackNote("*") });
    expect(status).toBe(201);
    const beat = async (agentVersion: string) => (await agent.heartbeat({ agentVersion })).body;
    await until("the offer", async () => (await beat(newer)).upgradeTo === target);
    expect(await beat(target)).toMatchObject({ status: "online", upgradeTo: null });
    expect((await root.call("GET", `${rollouts}/${body.id}`)).body).toMatchObject({ succeeded: 1, failed: 0 });
    expect((await root.call("POST", `${rollouts}/${body.id}/cancel`)).status).toBe(200);
  }, 60_000);
});
