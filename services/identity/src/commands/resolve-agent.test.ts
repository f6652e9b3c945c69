import { create, fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { uuidv7 } from "@muster/kit";
import { type AgentChanged, AgentChangedSchema } from "@muster/proto/muster/events/v1/auth_pb";
import { DeviceChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { followDevices } from "../events/devices.ts";
import { newAgentToken } from "../rules/agent-token.ts";
import { issueAgentToken, lockAgentToken, offerAgentToken } from "../store/agent-tokens.ts";
import { codeOf } from "../testing/identity.ts";
import { startTestKeys, type TestKeys } from "../testing/keys.ts";
import { resolveAgent } from "./resolve-agent.ts";

let keys: TestKeys;
beforeAll(async () => {
  keys = await startTestKeys();
});
afterAll(async () => {
  await keys.close();
});

async function enrolled(quarantined = false) {
  const partnerId = await keys.addPartner();
  const orgId = await keys.addOrganization(partnerId);
  const deviceId = uuidv7();
  const token = newAgentToken();
  const { digest } = token;
  await keys.db.tx(keys.system, (tx) =>
    issueAgentToken(tx, { deviceId, orgId, partnerId, digest, quarantined, name: "enrolled" }, new Date()),
  );
  expect((await resolve(digest))?.device_id).toBe(deviceId);
  return { deviceId, orgId, partnerId, digest };
}
const resolve = (digest: Buffer) => resolveAgent(keys.db, digest, new Date());
const offered = async (deviceId: string) => {
  const { digest } = newAgentToken();
  await keys.db.tx(keys.system, (tx) => offerAgentToken(tx, deviceId, digest));
  return digest;
};
async function eventsOf(deviceId: string): Promise<AgentChanged[]> {
  const rows = await keys.db.read<{ body: Buffer }>(
    keys.system,
    sql`SELECT body FROM outbox WHERE subject = 'auth.agent' ORDER BY id`,
  );
  return rows.map(({ body }) => fromBinary(AgentChangedSchema, body)).filter((event) => event.deviceId === deviceId);
}
const device = (id: string, version: number, status: string, of: { orgId: string; partnerId: string }) =>
  create(DeviceChangedSchema, { id, version: BigInt(version), status, orgId: of.orgId, partnerId: of.partnerId });

describe("an agent's token", () => {
  it("is found by its digest, with the state of its tenant", async () => {
    const agent = await enrolled();
    expect(await resolve(agent.digest)).toMatchObject({
      device_id: agent.deviceId,
      org_id: agent.orgId,
      partner_status: "active",
      org_status: "active",
      quarantined: false,
    });
    expect(await resolve(newAgentToken().digest)).toBeNull();
  });

  it("has the newest name of its device, without a message to gateways", async () => {
    const agent = await enrolled();
    const nameOf = async () => (await resolve(agent.digest))?.name;
    expect(await nameOf()).toBe("enrolled");
    const reported = (version: number, hostname: string) => ({
      ...device(agent.deviceId, version, "online", agent),
      hostname,
    });
    const steps: [number, string, string][] = [
      [3, "newer", "newer"],
      [2, "older", "newer"],
      [4, "", "newer"],
      [5, "newest", "newest"],
    ];
    for (const [version, hostname, expected] of steps) {
      await keys.db.tx(keys.system, (tx) => followDevices(tx, [reported(version, hostname)]));
      expect(await nameOf()).toBe(expected);
    }
    expect(await eventsOf(agent.deviceId)).toEqual([]);
  });

  it("stays valid beside a new one until that is used, and never afterwards", async () => {
    const agent = await enrolled();
    const next = await offered(agent.deviceId);
    expect(await resolve(agent.digest)).not.toBeNull();
    const firstUses = await Promise.all(Array.from({ length: 5 }, () => resolve(next)));
    expect(new Set(firstUses.map((row) => row?.device_id))).toEqual(new Set([agent.deviceId]));
    expect(await resolve(agent.digest)).toBeNull();
    const events = await eventsOf(agent.deviceId);
    expect(events).toHaveLength(1);
    expect(events[0]?.digests.map((digest) => Buffer.from(digest).toString("hex"))).toContain(
      agent.digest.toString("hex"),
    );
    const row = await keys.db.tx(keys.system, (tx) => lockAgentToken(tx, agent.deviceId));
    expect([row?.generation, row?.next_digest]).toEqual([2, null]);
  });

  it("is void, when never used, once another was issued", async () => {
    const agent = await enrolled();
    const lost = await offered(agent.deviceId);
    const second = await offered(agent.deviceId);
    expect(await resolve(lost)).toBeNull();
    expect(await resolve(second)).not.toBeNull();
  });

  it("is refused once its device is decommissioned, and gateways are notified once", async () => {
    const agent = await enrolled();
    const gone = device(agent.deviceId, 3, "decommissioned", agent);
    for (let i = 0; i < 2; i++) await keys.db.tx(keys.system, (tx) => followDevices(tx, [gone]));
    expect(await codeOf(resolve(agent.digest))).toBe("agent_token_revoked");
    expect((await eventsOf(agent.deviceId)).map(({ revoked }) => revoked)).toEqual([true]);
  });

  it("follows its device into quarantine and out of it, and ignores older events", async () => {
    const agent = await enrolled(true);
    const apply = (version: number, status: string) =>
      keys.db.tx(keys.system, (tx) => followDevices(tx, [device(agent.deviceId, version, status, agent)]));
    await apply(2, "offline");
    expect((await resolve(agent.digest))?.quarantined).toBe(false);
    await apply(1, "quarantined");
    await apply(3, "online");
    expect((await resolve(agent.digest))?.quarantined).toBe(false);
    expect(await eventsOf(agent.deviceId)).toHaveLength(1);
  });

  it.each(["organization", "partner"] as const)("is refused once its %s is deleted", async (kind) => {
    const agent = await enrolled();
    const next = await offered(agent.deviceId);
    const id = kind === "organization" ? agent.orgId : agent.partnerId;
    await keys.tell(kind, id, agent.partnerId, kind === "organization" ? id : "", true);
    for (const digest of [agent.digest, next]) expect(await codeOf(resolve(digest))).toBe("agent_token_revoked");
  });

  it("is not waited for by the deletion of its organization", async () => {
    const agent = await enrolled();
    await keys.db.tx(keys.system, async (tx) => {
      await lockAgentToken(tx, agent.deviceId);
      await keys.tell("organization", agent.orgId, agent.partnerId, agent.orgId, true);
    });
    expect(await codeOf(resolve(agent.digest))).toBe("agent_token_revoked");
  });
});
