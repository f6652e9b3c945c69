import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { type EnrolledAgent, enrollAgent } from "../support/enrolled-agent.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { enrollTotp, newOrganization, newPartner, newSite, operator, signedInAs } from "../support/users.ts";

type Target = { type: string; id: string; name: string | null };
type Row = { id: string; actorType: string; user: { id: string; name: string | null }; targets: Target[] };

let cluster: Cluster;
let root: Api;
let orgId: string;
let admin: Awaited<ReturnType<typeof signedInAs>>;
let key: string;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  const partnerId = await newPartner(cluster);
  orgId = await newOrganization(cluster, partnerId);
  admin = await signedInAs(cluster, "org-admin", { partnerId, orgId });
  await enrollTotp(admin);
  key = String((await admin.api.call("POST", "/enrollment-keys", { name: "Fleet", maxUsage: 10 })).body.key);
}, 240_000);

const rowOf = (query: string) =>
  until(`a row of ${query}`, async () => {
    const { body } = await root.call("GET", `/audit-logs/logs?orgId=${orgId}&${query}`);
    return (body.data as Row[] | undefined)?.[0] ?? null;
  });
const enrolled = (hostname: string): Promise<EnrolledAgent> => enrollAgent(cluster, key, { hostname });

describe("a row", () => {
  it("names the device by whose agent it is, by each service", async () => {
    const agent = await enrolled("lamp");
    const events = [{ timestamp: new Date().toISOString(), message: "started", source: "init" }];
    expect((await agent.call("PUT", "/eventlogs", { events })).status).toBe(200);
    const by = { actorType: "agent", user: { id: agent.id, name: "lamp" } };
    expect(await rowOf(`action=agent.eventlogs.submit&actorId=${agent.id}`)).toMatchObject(by);
    expect((await agent.call("POST", "/rotate-token", {})).status).toBe(200);
    expect(await rowOf(`action=agent.token.rotate&actorId=${agent.id}`)).toMatchObject(by);
    expect((await agent.heartbeat({ agentVersion: "1.0.1" })).status).toBe(200);
    expect(await rowOf(`action=device.update&actorId=${agent.id}`)).toMatchObject(by);
  }, 120_000);

  it("has each device of one change as a target with its name, and is found by each of them", async () => {
    const devices = await Promise.all(["one", "two"].map(enrolled));
    const siteId = await newSite(cluster, orgId);
    const group = await root.call("POST", "/device-groups", { orgId, siteId, name: "Lamps" });
    expect(await rowOf(`action=device_group.create&target=${siteId}`)).toMatchObject({
      targets: [{ type: "site", id: siteId, name: null }],
    });
    const ids = devices.map(({ id }) => id);
    const joined = await root.call("POST", `/device-groups/${group.body.id}/devices`, { deviceIds: ids });
    expect([joined.status, joined.body]).toMatchObject([200, {}]);
    for (const id of ids) {
      const { targets } = await rowOf(`action=device_group.update&target=${id}`);
      expect(targets.map(({ name }) => name).sort()).toEqual(["one", "two"]);
      expect(targets.map((target) => target.id).sort()).toEqual([...ids].sort());
    }
  }, 120_000);

  it("verifies in one chain with rows that have none", async () => {
    const started = await admin.api.call("POST", "/audit-logs/verify", { orgId });
    const job = await until("the verification", async () => {
      const { body } = await admin.api.call("GET", `/audit-logs/verify/${started.body.id}`);
      return body.status === "done" ? body : null;
    });
    expect((job.verdicts as { verdict: string }[]).map(({ verdict }) => verdict)).not.toContain("UNKNOWN_FORMAT");
    expect(job.verdicts).toEqual(expect.arrayContaining([expect.objectContaining({ verdict: "OK" })]));
    const exported = await fetch(`${cluster.url}/api/v1/audit-logs/export?format=jsonl`, {
      headers: { authorization: `Bearer ${admin.accessToken}` },
    });
    const text = await exported.text();
    const formats = text
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { format?: number }).format);
    expect(formats).toEqual(expect.arrayContaining([1, 2]));
  }, 120_000);
});
