import { beforeAll, describe, expect, it } from "@jest/globals";
import { type EnrolledAgent, enrollAgent } from "../support/enrolled-agent.ts";
import { ownTenant } from "../support/own-tenant.ts";
import { auditRows } from "../support/tenant-with-admins.ts";

const { cluster, tenant, call } = ownTenant();

let agent: EnrolledAgent;
beforeAll(async () => {
  const { body } = await call("POST", "/enrollment-keys", { name: "Fleet", maxUsage: 5 });
  agent = await enrollAgent(cluster, String(body.key), { hostname: "web-1" });
}, 180_000);

const device = async () => (await call("GET", `/devices/${agent.id}`)).body;
const fieldsOf = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
  status,
  Object.keys((body.details as { fieldErrors?: object } | undefined)?.fieldErrors ?? {}),
];

describe("the facts of heartbeats", () => {
  it("are in the record, with the bytes of an update, and one audit row of the agent", async () => {
    const update = { component: "agent", version: "2.0.0", state: "downloading", bytesDone: 5, bytesTotal: 10 };
    const said = { hostname: "web-2", os: "windows", arch: "arm64", helperVersion: "1.0.0" };
    expect((await agent.heartbeat({ ...said, update })).status).toBe(200);
    expect(await device()).toMatchObject({ ...said, reported: { update } });
    const rows = await auditRows(tenant.admin.api, tenant.orgId, agent.id, 2);
    expect(rows.map(({ action }) => action)).toEqual(["device.create", "device.update"]);
  });

  it.each([
    ["os", { os: "plan9" }],
    ["arch", { arch: "mips" }],
    ["hostname", { hostname: "a\u202eb" }],
    ["update.bytesDone", { update: { component: "agent", version: "2.0.0", state: "downloading", bytesDone: -1 } }],
  ])("are refused for an impossible %s, and nothing is stored", async (field, change) => {
    const before = await device();
    expect(fieldsOf(await agent.heartbeat(change))).toEqual([400, [field]]);
    expect(await device()).toEqual(before);
  });
});

describe("the history of metrics", () => {
  it("has ended hours only, in steps that there are", async () => {
    await agent.heartbeat({ metrics: { "cpu.percent": 12.5 } });
    const of = `/devices/${agent.id}/metrics`;
    expect((await call("GET", `${of}?step=5m`)).body).toEqual({ data: [] });
    expect((await call("GET", "/devices/metrics?step=1d")).body).toEqual({ data: [] });
    const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString();
    expect(fieldsOf(await call("GET", `${of}?from=${days(90)}&step=1s`))).toEqual([400, ["step"]]);
    expect(fieldsOf(await call("GET", `${of}?from=${days(90)}&step=5m`))).toEqual([400, ["step"]]);
    expect(fieldsOf(await call("GET", `${of}?from=${days(1)}&to=${days(2)}`))).toEqual([400, ["to"]]);
    expect(fieldsOf(await call("GET", `${of}?from=yesterday`))).toEqual([400, ["from"]]);
    expect((await call("GET", `${of}?from=${days(90)}&step=1h`)).status).toBe(200);
  });

  it.each([
    ["step=1s", "step"],
    ["step=5m", "step"],
    ["from=yesterday", "from"],
    ["from=2026-01-02&to=2026-01-01", "to"],
    ["from=2025-01-01&to=2026-01-01&step=1h", "step"],
    ["siteId=x", "siteId"],
  ])("has no percentiles for %s, and says so by the name of the field", async (query, field) => {
    expect(fieldsOf(await call("GET", `/devices/metrics?${query}`))).toEqual([400, [field]]);
  });
});
