import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { noteKeys } from "@muster/kit";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import { enrollAgent } from "../support/enrolled-agent.ts";
import { auditedActions, newTenant, type Tenant } from "../support/enroller.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { enrollTotp, operator, signedInAs } from "../support/users.ts";
import { buildRelease, publish } from "./release-folder.ts";

/** A pre-release, which is never promoted by itself. */
const version = "8.0.0-partner.1";
/** Older than that, newer than whatever another suite has promoted on the cluster. */
const installed = "7.9.0";
const rollouts = "/agent-versions/rollouts";

let cluster: LentCluster;
let root: Api;
let ours: Tenant;
let theirs: Tenant;
let partner: Api;
let other: Api;
beforeAll(async () => {
  cluster = await lentCluster("twoGateways");
  root = await operator(cluster);
  [ours, theirs] = [await newTenant(root), await newTenant(root)];
  [partner, other] = [await administrator(ours), await administrator(theirs)];
  const { signer } = noteKeys(cluster.releaseKey);
  await publish(cluster.releases, buildRelease("agent", version, { signer }));
  const synced = await root.call("POST", `/agent-versions/sync-directory?version=${version}`);
  expect(synced).toMatchObject({ status: 200, body: { version } });
}, lendMs);
afterAll(() => cluster?.giveBack());

async function administrator({ partnerId }: Tenant): Promise<Api> {
  const user = await signedInAs(cluster, "partner-admin", { partnerId, orgAccess: "all" });
  await enrollTotp(user);
  return user.api;
}

async function agentIn({ orgId, siteId }: Tenant) {
  const { body } = await root.call("POST", "/enrollment-keys", { orgId, siteId, name: "Key" });
  return enrollAgent(cluster, String(body.key), { agentVersion: installed });
}

describe("a partner's rollout", () => {
  it("reaches its own devices, is held by the platform, and pins its version when it is completed", async () => {
    const [mine, foreign] = [await agentIn(ours), await agentIn(theirs)];
    const ring = (orgId: string) => ({ rings: [{ name: "First", orgIds: [orgId] }] });
    const refused = { status: 400, body: { details: { fieldErrors: { "rings.0.orgIds": [expect.any(String)] } } } };
    expect(await partner.call("POST", `${rollouts}/preview`, ring(theirs.orgId))).toMatchObject(refused);
    expect((await partner.call("POST", `${rollouts}/preview`, ring(ours.orgId))).body).toMatchObject({
      rings: [{ devices: 1 }],
    });
    const wanted = { component: "agent", version, soakSeconds: 0 };
    expect(await partner.call("POST", rollouts, { ...wanted, ...ring(theirs.orgId) })).toMatchObject(refused);
    const { status, body } = await partner.call("POST", rollouts, { ...wanted, ...ring(ours.orgId) });
    expect([status, body]).toMatchObject([201, { partnerId: ours.partnerId, mayChange: true, state: "running" }]);
    const path = `${rollouts}/${body.id}`;

    expect((await mine.heartbeat({ agentVersion: installed })).body).toMatchObject({ upgradeTo: version });
    expect((await foreign.heartbeat({ agentVersion: installed })).body.upgradeTo).not.toBe(version);
    const why = await other.call("GET", `/devices/${foreign.id}/update-decision`);
    expect([why.status, JSON.stringify(why.body)]).toEqual([200, expect.not.stringContaining(version)]);
    expect((await partner.call("GET", `${rollouts}?partnerId=${ours.partnerId}`)).body.data).toMatchObject([
      { id: body.id },
    ]);
    for (const [method, of] of [
      ["GET", path],
      ["GET", `${path}/progress`],
      ["GET", `${path}/devices`],
      ["POST", `${path}/cancel`],
    ] as const) {
      expect(await other.call(method, of)).toMatchObject({ status: 404, body: { code: "rollout_not_found" } });
    }

    expect((await root.call("POST", `${path}/pause`)).body).toMatchObject({ state: "paused", heldByPlatform: true });
    expect((await mine.heartbeat({ agentVersion: installed })).body).toMatchObject({
      upgradeTo: null,
      status: "online",
    });
    expect(await partner.call("POST", `${path}/resume`)).toMatchObject({
      status: 409,
      body: { code: "rollout_not_running", error: "The platform has paused the rollout" },
    });
    expect((await root.call("POST", `${path}/resume`)).body).toMatchObject({ state: "running", heldByPlatform: false });
    await until(
      "the offer",
      async () => (await mine.heartbeat({ agentVersion: installed })).body.upgradeTo === version,
    );
    await mine.heartbeat({ agentVersion: version });
    expect((await partner.call("GET", path)).body).toMatchObject({ succeeded: 1, failed: 0 });

    const next = await agentIn(ours);
    expect((await partner.call("POST", `${path}/complete`)).body).toMatchObject({ state: "completed" });
    const pins = await partner.call("GET", "/orgs/partners/me/agent-updates");
    expect(pins.body).toMatchObject({ fields: { agentTarget: { value: version } } });
    await until(
      "the offer of the pin",
      async () => (await next.heartbeat({ agentVersion: installed })).body.upgradeTo === version,
    );
    await until("the audit rows of the partner", async () => {
      const actions = await auditedActions(partner, "agent_update.rollout", String(body.id));
      return ["create", "pause", "resume", "complete"].every((each) =>
        actions.includes(`agent_update.rollout.${each}`),
      );
    });
  }, 60_000);
});
