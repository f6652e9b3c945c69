import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { until } from "@muster/testing";
import type { Api } from "../support/client.ts";
import { auditedActions, enroller } from "../support/enroller.ts";
import { type LentCluster, lendMs, lentCluster } from "../support/lent-cluster.ts";
import { auditRows } from "../support/tenant-with-admins.ts";
import { newOrganization, newPartner, operator } from "../support/users.ts";

let cluster: LentCluster;
let root: Api;
let enroll: Awaited<ReturnType<typeof enroller>>;
let orgId: string;
beforeAll(async () => {
  cluster = await lentCluster("killed");
  root = await operator(cluster);
  enroll = await enroller(cluster);
  orgId = await newOrganization(cluster, await newPartner(cluster));
}, lendMs);
afterAll(() => cluster?.giveBack());

const start = (body: object) => root.call("POST", "/devices/bulk-jobs", body);
const ended = (id: string) =>
  until(
    "the job to end",
    async () => {
      const { body } = await root.call("GET", `/devices/bulk-jobs/${id}`);
      return body.status === "done" && body;
    },
    60_000,
  );
const errorsOf = ({ body }: { body: Record<string, unknown> }) =>
  Object.keys((body.details as { fieldErrors?: object } | undefined)?.fieldErrors ?? {});

describe("a bulk job", () => {
  it("goes on after tenancy was killed, and changes each device once", async () => {
    const ids = await Promise.all(Array.from({ length: 60 }, () => enroll(orgId)));
    const filter = { orgId, status: ["offline"] };
    const change = { autoUpdateEnabled: false };
    const made = await start({ filter, expectedCount: 60, action: "update", change });
    expect([made.status, made.body]).toEqual([
      202,
      expect.objectContaining({ orgId, filter, change, action: "update", total: 60, done: 0, failed: 0, reasons: [] }),
    ]);
    const id = String(made.body.id);
    const path = `/devices/bulk-jobs/${id}`;
    await until("a few devices", async () => Number((await root.call("GET", path)).body.done) > 0);
    process.kill((await cluster.stack()).services.tenancy?.pid ?? 0, "SIGKILL");
    expect(await ended(id)).toMatchObject({ done: 60, failed: 0, finishedAt: expect.any(String) });
    for (const device of ids.slice(0, 3).concat(ids.slice(-3))) {
      expect((await root.call("GET", `/devices/${device}`)).body).toMatchObject({ autoUpdateEnabled: false });
    }
    const rows = await until("an audit row of each", async () => {
      const { body } = await root.call("GET", `/audit-logs/logs?orgId=${orgId}&action=device.update&limit=100`);
      const found = body.data as { resource: { id: string } }[];
      return found.length >= 60 ? found : null;
    });
    expect(new Set(rows.map(({ resource }) => resource.id)).size).toBe(60);
    expect(rows).toHaveLength(60);
    expect(await auditedActions(root, "device.bulk_job.", id)).toEqual(["device.bulk_job.create"]);
  }, 120_000);

  it("names why devices were refused, and ends the agents of those that it decommissioned", async () => {
    const own = await newOrganization(cluster, await newPartner(cluster));
    const [gone, active] = [await enroll(own), await enroll(own)];
    await root.call("DELETE", `/devices/${gone}`);
    const change = await start({
      filter: { orgId: own },
      expectedCount: 2,
      action: "update",
      change: { siteId: null },
    });
    expect(await ended(String(change.body.id))).toMatchObject({
      ...{ total: 2, done: 1, failed: 1 },
      reasons: [{ code: "device_decommissioned", error: "Device is decommissioned", count: 1, deviceIds: [gone] }],
    });
    const end = await start({ filter: { orgId: own }, expectedCount: 2, action: "decommission" });
    expect(await ended(String(end.body.id))).toMatchObject({ done: 2, failed: 0, change: null });
    expect((await root.call("GET", `/devices/${active}`)).body.status).toBe("decommissioned");
    const rows = await auditRows(root, own, active, 3);
    expect(rows.map(({ action }) => action)).toEqual(["device.create", "device.update", "device.delete"]);
  });

  it.each<[string, object, number, string[]]>([
    ["a filter that no list has", { filter: { colour: "red" } }, 400, ["filter"]],
    ["a status that no device has", { filter: { status: ["asleep"] } }, 400, ["filter.status.0"]],
    ["a page", { filter: { page: "2" } }, 400, ["filter"]],
    ["no device", { expectedCount: 0 }, 400, ["expectedCount"]],
    ["an action that none is", { action: "erase" }, 400, ["action"]],
    ["an update without a change", { change: {} }, 400, []],
    ["a change of another action", { action: "approve" }, 400, ["action"]],
    ["another number of devices", { expectedCount: 5_000 }, 409, []],
  ])("is refused with %s", async (_what, wrong, status, fields) => {
    const right = { filter: { orgId }, expectedCount: 60, action: "update", change: { autoUpdateEnabled: true } };
    const reply = await start({ ...right, ...wrong });
    expect([reply.status, errorsOf(reply)]).toEqual([status, fields]);
    if (status === 409)
      expect(reply.body).toMatchObject({ code: "device_count_changed", count: 60, expectedCount: 5_000 });
  });
});
