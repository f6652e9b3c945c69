import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createLogger } from "@muster/kit";
import { asOwner } from "@muster/testing";
import { aLog, startDeviceLogs, type TestDevice, type TestDeviceLogs } from "../testing/device-logs.ts";
import { startMaintenance } from "./retention.ts";

const log = createLogger("test", "error");
let service: TestDeviceLogs;
beforeAll(async () => {
  service = await startDeviceLogs();
});
afterAll(() => service?.stop());

/** Rows of a table that were stored `days` ago. */
async function insert(
  table: "agent_log" | "event_log",
  { deviceId, orgId, partnerId }: TestDevice,
  days: number,
  rows: number,
) {
  const more = table === "agent_log" ? "component" : "category, source";
  const values = table === "agent_log" ? "'ws'" : "'system', 's'";
  await asOwner(service.database, (owner) =>
    owner.query(`
      INSERT INTO ${table} (id, device_id, org_id, partner_id, "timestamp", level, ${more}, message, created_at)
      SELECT gen_random_uuid(), '${deviceId}', '${orgId}', '${partnerId}', now(), 'info', ${values}, 'x', now() - interval '${days} days'
      FROM generate_series(1, ${rows})`),
  );
}

const weeks = () =>
  asOwner(service.database, async (owner) => {
    const { rows } = await owner.query<{ name: string; secured: boolean; policies: number }>(`
      SELECT c.relname AS name, c.relrowsecurity AS secured,
             (SELECT count(*)::int FROM pg_policy p WHERE p.polrelid = c.oid) AS policies
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'agent_log'::regclass ORDER BY 1`);
    return rows;
  });

const options = () => ({ db: service.database.db, log, platform: service.platform, now: () => new Date() });

describe("the partition maintenance", () => {
  it("removes requests whose repeats are no longer recognised, and no others", async () => {
    const device = service.device();
    const agent = service.logs(service.agentOf(device));
    for (const message of ["old", "young"]) {
      await agent.appendAgentLogs({ deviceId: device.deviceId, logs: [aLog({ message })], key: message });
      await asOwner(service.database, (owner) =>
        owner.query("UPDATE agent_log_request SET expires_at = expires_at - interval '23 hours' WHERE device_id = $1", [
          device.deviceId,
        ]),
      );
    }
    const kept = () =>
      asOwner(service.database, async (owner) => {
        const { rows } = await owner.query("SELECT FROM agent_log_request WHERE device_id = $1", [device.deviceId]);
        return rows.length;
      });
    expect(await kept()).toBe(2);
    const maintenance = startMaintenance(options());
    await maintenance.run();
    await maintenance.stop();
    expect(await kept()).toBe(1);
  });

  it("creates the partitions of the coming weeks, each under row-level security, also after gaps", async () => {
    const before = await weeks();
    expect(before.length).toBe(10);
    await asOwner(service.database, (owner) => owner.query(`DROP TABLE ${before[3]?.name}, ${before[5]?.name}`));
    const maintenance = startMaintenance(options());
    await maintenance.run();
    await maintenance.stop();
    const after = await weeks();
    expect(after.map(({ name }) => name)).toEqual(before.map(({ name }) => name));
    expect(after.every(({ secured, policies }) => secured && policies === 1)).toBe(true);
  });

  it("moves rows from the default partition into their week's partition", async () => {
    const device = service.device();
    await insert("agent_log", device, 14, 3);
    const stored = () => service.count("agent_log", device.deviceId);
    expect(await stored()).toBe(3);
    await asOwner(service.database, async (owner) => {
      await owner.query("SELECT make_agent_log_weeks(0, now() - interval '14 days')");
      const { rows } = await owner.query("SELECT count(*)::int AS n FROM ONLY agent_log_default");
      expect(rows[0]).toEqual({ n: 0 });
    });
    expect(await stored()).toBe(3);
  });

  it("drops weeks past their retention and keeps the others; deletes old events in chunks", async () => {
    const [old, young] = [service.device(), service.device()];
    await asOwner(service.database, (owner) =>
      owner.query("SELECT make_agent_log_weeks(12, now() - interval '84 days')"),
    );
    for (const [days, device] of [
      [80, old],
      [40, old],
      [20, young],
      [0, young],
    ] as const) {
      await insert("agent_log", device, days, 10);
    }
    await insert("event_log", old, 91, 6_000);
    await insert("event_log", young, 89, 10);
    const maintenance = startMaintenance(options());
    await Promise.all([maintenance.run(), maintenance.run()]);
    await maintenance.stop();
    expect(await service.count("agent_log", old.deviceId)).toBe(0);
    expect(await service.count("agent_log", young.deviceId)).toBe(20);
    expect(await service.count("event_log", old.deviceId)).toBe(0);
    expect(await service.count("event_log", young.deviceId)).toBe(10);
    const oldest = (await weeks())[0]?.name ?? "";
    expect(
      oldest >= `agent_log_${new Date(Date.now() - 38 * 86_400_000).toISOString().slice(0, 10).replaceAll("-", "")}`,
    ).toBe(true);
  });

  it("never lets the application drop rows less than a day old, or create unlimited partitions", async () => {
    const { db } = service.database;
    const run = (text: string) => db.tx({ caller: null }, (tx) => tx.query({ text, values: [] }));
    await expect(run("SELECT drop_agent_log_week(now())")).rejects.toThrow(/younger than a day/);
    await expect(run("SELECT make_agent_log_weeks(1000)")).rejects.toThrow(/weeks_ahead/);
    await expect(run("DROP TABLE agent_log_default")).rejects.toThrow(/must be owner/);
  });
});
