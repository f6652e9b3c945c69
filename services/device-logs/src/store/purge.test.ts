import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { sql } from "@muster/db";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { TenantChangedSchema } from "@muster/proto/muster/events/v1/tenancy_pb";
import { followTenancy, purgeAll, requestPurge } from "@muster/service";
import { asOwner, type TestNats, testNats, until } from "@muster/testing";
import { startDeviceLogs, type TestDevice, type TestDeviceLogs } from "../testing/device-logs.ts";
import { purgePlan } from "./purge.ts";

const log = createLogger("test", "fatal");
const system = { caller: systemCaller("device-logs") };
let service: TestDeviceLogs;
beforeAll(async () => {
  service = await startDeviceLogs();
});
afterAll(() => service?.stop());

/** Rows of both kinds, diagnostic logs of several weeks among them, and the copy of the device. */
async function filled(device: TestDevice, rows = 20): Promise<TestDevice> {
  const ids = `'${device.deviceId}', '${device.orgId}', '${device.partnerId}', now(), 'info'`;
  await asOwner(service.database, (owner) =>
    owner.query(`
      INSERT INTO agent_log (id, device_id, org_id, partner_id, "timestamp", level, component, message, created_at)
        SELECT gen_random_uuid(), ${ids}, 'ws', repeat('x', 500), now() + (n % 5) * interval '7 days' - interval '14 days'
        FROM generate_series(1, ${rows}) n;
      INSERT INTO event_log (id, device_id, org_id, partner_id, "timestamp", level, category, source, message)
        SELECT gen_random_uuid(), ${ids}, 'system', 's', repeat('x', 500) FROM generate_series(1, ${rows});
      INSERT INTO agent_log_request (device_id, org_id, partner_id, request, body_sha256, expires_at)
        VALUES ('${device.deviceId}', '${device.orgId}', '${device.partnerId}', 'x', 'x', now() + interval '1 day')`),
  );
  await service.applyDevice(device, 1n);
  return device;
}

async function left({ deviceId }: TestDevice): Promise<[number, number, number]> {
  const cached = await service.database.db.read(
    system,
    sql`
      SELECT id FROM device WHERE id = ${deviceId}::uuid
      UNION SELECT device_id FROM agent_log_request WHERE device_id = ${deviceId}::uuid`,
  );
  return [await service.count("agent_log", deviceId), await service.count("event_log", deviceId), cached.length];
}

const purges = () => ({ db: service.database.db, service: "device-logs", log, plan: purgePlan });
const purge = (kind: "organization" | "partner", id: string) => {
  const { db } = service.database;
  return db.tx(system, (tx) => requestPurge(tx, { kind, id }));
};

describe("a purged tenant", () => {
  it("has no rows left, in any partition, and other tenants keep all of theirs", async () => {
    const gone = await filled(service.device());
    const neighbour = await filled(service.device({ partnerId: gone.partnerId }));
    await purge("organization", gone.orgId);
    await purge("organization", gone.orgId);
    expect(await purgeAll(purges())).toBe(1);
    expect(await left(gone)).toEqual([0, 0, 0]);
    expect(await left(neighbour)).toEqual([20, 20, 1]);
    await purge("organization", gone.orgId);
    expect(await purgeAll(purges())).toBe(0);
  });

  it("loses the data of all its organizations when it is a partner", async () => {
    const partnerId = uuidv7();
    const devices = [await filled(service.device({ partnerId })), await filled(service.device({ partnerId }))];
    const other = await filled(service.device());
    await purge("partner", partnerId);
    await purgeAll(purges());
    for (const device of devices) expect(await left(device)).toEqual([0, 0, 0]);
    expect(await left(other)).toEqual([20, 20, 1]);
  });

  it("is deleted in slices, and a stopped process leaves the rest to the next one", async () => {
    const gone = await filled(service.device(), 6_000);
    await purge("organization", gone.orgId);
    const stopping = new AbortController();
    const first = purgeAll(purges(), stopping.signal);
    await until("the first slices", async () => {
      const [agentLogs, events] = await left(gone);
      return agentLogs + events < 12_000;
    });
    stopping.abort();
    expect(await first).toBe(0);
    expect((await left(gone))[1]).toBeGreaterThan(0);
    // The lease holder is silent for longer than this.
    await until("the rest", async () => (await purgeAll(purges(), undefined, 1)) === 1);
    expect(await left(gone)).toEqual([0, 0, 0]);
  });
});

describe("a purge event", () => {
  let nats: TestNats;
  let buses: Bus[];
  beforeAll(async () => {
    nats = await testNats();
    const open = (name: "tenancy" | "device-logs") =>
      openBus({ servers: nats.url, seed: nats.seeds[name], name, replicas: 1, log });
    buses = [await open("tenancy"), await open("device-logs")];
    await buses[0]?.ensureStream("TENANCY");
  });
  afterAll(async () => {
    for (const bus of buses ?? []) await bus.close();
    await nats?.remove();
  });

  it("is consumed from tenancy's stream, once however often it is delivered", async () => {
    const [tenancy, own] = buses as [Bus, Bus];
    const gone = await filled(service.device());
    const { db } = service.database;
    const following = followTenancy(own, {
      db,
      service: "device-logs",
      log,
      onPurged: (tx, tenant) => requestPurge(tx, tenant),
    });
    const { orgId, partnerId } = gone;
    const event = create(TenantChangedSchema, {
      kind: "organization",
      id: orgId,
      orgId,
      partnerId,
      version: 3n,
      deleted: true,
    });
    for (const nth of [1, 2]) {
      await tenancy.transport.publish({
        subject: "tenancy.organization.purged",
        msgId: `${orgId}/again-${nth}`,
        body: toBinary(TenantChangedSchema, event),
        traceparent: null,
      });
    }
    await until("the purge", async () => {
      await purgeAll(purges());
      return (await left(gone)).every((rows) => rows === 0);
    });
    await following.stop();
    const queued = await db.read(system, sql`SELECT FROM job WHERE id = ${orgId}::uuid`);
    expect(queued.length).toBe(1);
  });
});
