import { beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import { agentMaker, type TestAgent } from "../support/agent-maker.ts";
import type { Api } from "../support/client.ts";
import type { Cluster } from "../support/cluster.ts";
import { auditedActions, newTenant, type Tenant } from "../support/enroller.ts";
import { sharedCluster } from "../support/shared-cluster.ts";
import { operator } from "../support/users.ts";

let cluster: Cluster;
let root: Api;
let newAgent: (tenant: Tenant) => Promise<TestAgent>;
beforeAll(async () => {
  cluster = await sharedCluster();
  root = await operator(cluster);
  newAgent = await agentMaker(cluster);
}, 180_000);

const aLog = (message: string) => ({ timestamp: "2026-01-02T03:04:05.678Z", level: "info", component: "ws", message });

describe("the quota of an organization", () => {
  it("is in the reply's headers; beyond it agents get 429 with Retry-After, and the platform sees whose they are", async () => {
    const tenant = await newTenant(root);
    const agent = await newAgent(tenant);
    const limits = `/orgs/organizations/${tenant.orgId}/log-limits`;
    const changed = await root.call("PATCH", limits, { rowsPerDay: 3, agentLogDays: 7 });
    expect(changed).toMatchObject({
      status: 200,
      body: { rowsPerDay: 3, effective: { rowsPerDay: 3, agentLogDays: 7 } },
    });
    const send = (message: string) =>
      agent.api.call("POST", `/agents/${agent.deviceId}/logs`, [aLog(`${message} 1`), aLog(`${message} 2`)]);
    const first = await send("a");
    expect([first.status, first.headers.get("x-log-quota-rows")]).toEqual([201, "1"]);
    expect(Number(first.headers.get("x-log-quota-bytes"))).toBeGreaterThan(0);
    expect((await send("b")).headers.get("x-log-quota-rows")).toBe("0");
    const refused = await send("c");
    expect([refused.status, refused.body.code]).toEqual([429, "log_quota_exceeded"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    await until("the usage is stored", async () => {
      const { body } = await root.call("GET", "/platform/log-usage?refused=true&limit=500");
      const rows = body.data as { orgId: string; rows: number; refusedRequests: number }[];
      return rows.some(
        ({ orgId, rows: n, refusedRequests }) => orgId === tenant.orgId && n === 4 && refusedRequests === 1,
      );
    });
    expect((await root.call("GET", limits)).body.today).toMatchObject({ rows: 4, refusedRequests: 1 });
    const stored = await root.call("GET", `/devices/${agent.deviceId}/diagnostic-logs`);
    expect(stored.body.data).toHaveLength(4);
    await until("the audit row", async () =>
      (await auditedActions(root, "organization.log_limits", tenant.orgId)).includes("organization.log_limits.update"),
    );
  });

  it.each([
    [{ agentLogDays: 31 }, "agentLogDays"],
    [{ eventLogDays: 0 }, "eventLogDays"],
    [{ rowsPerDay: 1.5 }, "rowsPerDay"],
  ])("is refused as %j", async (body, field) => {
    const { orgId } = await newTenant(root);
    const reply = await root.call("PATCH", `/orgs/organizations/${orgId}/log-limits`, body);
    expect(reply).toMatchObject({ status: 400, body: { details: { fieldErrors: { [field]: expect.anything() } } } });
  });
});
