import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Database, openDatabase, type Query, sql, startRelay } from "@muster/db";
import { createLogger, systemCaller, uuidv7 } from "@muster/kit";
import { DeviceService } from "@muster/proto/muster/tenancy/v1/device_pb";
import { callers, outcome, until } from "@muster/testing";
import { beginUpdates } from "../commands/begin-updates.ts";
import { recordHeartbeats } from "../commands/record-heartbeats.ts";
import { type Fleet, permissions, startFleet } from "../testing/fleet.ts";

const system = { caller: systemCaller("tenancy") };

let fleet: Fleet;
let beside: Database;
beforeAll(async () => {
  fleet = await startFleet();
  beside = openDatabase({ url: fleet.database.appUrl, max: 2, name: "beside", log: createLogger("test", "error") });
});
afterAll(async () => {
  await beside?.close();
  await fleet?.stop();
});

/** Runs `use` while another transaction holds the locks of a statement. */
function whileLocked<T>(statement: Query, use: () => Promise<T>): Promise<T> {
  return beside.tx(system, async (tx) => {
    await tx.execute(statement);
    return use();
  });
}

/** Resolves when at least this many transactions wait for a lock. */
const waitForLocks = (least: number) =>
  until("transactions that wait for a lock", async () => {
    const waiting = await beside.read(
      system,
      sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return waiting.length >= least;
  });

describe("an organization's locks", () => {
  it("delay its own enrollments, not the calls of others", async () => {
    const [busy, other] = [await fleet.tenant(), await fleet.tenant()];
    const id = await fleet.device(other.orgId);
    // As the deletion of a site with very many devices does.
    const deleting = sql`SELECT FROM sites WHERE id = ${busy.siteId}::uuid FOR UPDATE`;
    const enrolling = await whileLocked(deleting, async () => {
      const all = Array.from({ length: 8 }, () => outcome(fleet.createDevice(busy.orgId, { siteId: busy.siteId })));
      await waitForLocks(4);
      const reader = fleet.port.client(DeviceService, callers.partnerAdmin(other.partnerId, { permissions }));
      expect(await outcome(reader.getDevice({ id }))).toBe("ok");
      expect(await outcome(fleet.createDevice(other.orgId, { siteId: other.siteId }))).toBe("ok");
      return all;
    });
    const outcomes = await Promise.all(enrolling);
    expect(outcomes.filter((each) => each === "ok").length).toBeGreaterThanOrEqual(4);
  });

  it("delay its own heartbeats and updates, not those of others in the same batch", async () => {
    const [busy, other] = [await fleet.tenant(), await fleet.tenant()];
    const [held, free] = [await fleet.device(busy.orgId), await fleet.device(other.orgId)];
    const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
    const beat = (deviceId: string, orgId: string) => ({
      ...{ deviceId, orgId, agentVersion: "1.0.0", watchdogVersion: null, helperVersion: null, updateEnded: false },
      ...{ hostname: null, os: null, arch: null, libc: null },
      ...{ wantedFacts: "any" as const, reportedJson: null, clientAddress: null, meta },
    });
    const { db } = fleet.database;
    const record = async () => {
      const both = [beat(held, busy.orgId), beat(free, other.orgId), beat(uuidv7(), other.orgId)];
      return (await recordHeartbeats(db, both, 60)).map((result) => result?.status ?? null);
    };
    const begin = () =>
      beginUpdates(
        db,
        meta,
        [held, free].map((deviceId) => ({ deviceId, component: "agent", version: "1.1.0", timeoutSeconds: 300 })),
      );
    await whileLocked(sql`SELECT FROM devices WHERE org_id = ${busy.orgId}::uuid FOR UPDATE`, async () => {
      expect(await record()).toEqual(["locked", "online", null]);
      expect(await begin()).toEqual([free]);
    });
    expect(await record()).toEqual(["online", "updating", null]);
    expect((await begin()).sort()).toEqual([held, free].sort());
  });
});

describe("very many changes of one organization's devices", () => {
  it("are published beside the changes of other tenants, not before them", async () => {
    const { db } = fleet.database;
    const [busy, other] = [uuidv7(), uuidv7()];
    const body = Buffer.from("{}");
    const last = `${other}/organization-2`;
    await db.tx(system, async (tx) => {
      for (let n = 0; n < 3_000; n++) {
        tx.emit({ subject: "tenancy.device.updated", msgId: `${busy}/device-${n}`, body });
      }
      tx.emit({ subject: "tenancy.organization.updated", msgId: `${other}/organization-1`, body });
      tx.emit({ subject: "tenancy.device.updated", msgId: `${other}/device`, body });
      tx.emit({ subject: "tenancy.organization.updated", msgId: last, body });
    });
    const published: string[] = [];
    const relay = startRelay({
      db,
      log: createLogger("test", "error"),
      transport: {
        publish: async ({ msgId }) => {
          published.push(msgId);
          return { stream: "TENANCY", created: "c", seq: published.length };
        },
        lookup: async (_stream, seq) => ({ created: "c", msgId: published[seq - 1] ?? null }),
        onReconnect: () => undefined,
      },
    });
    await until("the change of the other organization", () => published.includes(last));
    await relay.stop();
    expect(published.filter((msgId) => msgId.startsWith(busy)).length).toBeLessThan(1_500);
    const ofOther = published.filter((msgId) => msgId.startsWith(other));
    expect(ofOther.filter((msgId) => msgId.includes("organization"))).toEqual([`${other}/organization-1`, last]);
    expect(ofOther).toContain(`${other}/device`);
  });
});
