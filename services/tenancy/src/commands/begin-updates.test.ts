import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { sql } from "@muster/db";
import { systemCaller, uuidv7 } from "@muster/kit";
import { lookOnce } from "../jobs/presence-watch.ts";
import { type Fleet, startFleet } from "../testing/fleet.ts";
import { beginUpdates, endUpdates } from "./begin-updates.ts";
import { type ReceivedHeartbeat, recordHeartbeats } from "./record-heartbeats.ts";

const system = { caller: systemCaller("tenancy") };
const meta = { requestId: uuidv7(), clientAddress: null, userAgent: null, traceparent: null };
const intervalSeconds = 60;
const timeoutSeconds = 300;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet();
});
afterAll(() => fleet?.stop());

const db = () => fleet.database.db;
const execute = (statement: ReturnType<typeof sql>) => db().tx(system, (tx) => tx.execute(statement));

/** A device that sent a heartbeat, runs 1.0.0 and begins to update its agent to 1.1.0 now. */
async function updating(component = "agent") {
  const { orgId } = await fleet.tenant();
  const id = await fleet.device(orgId);
  const beat = async (agentVersion: string, change: Partial<ReceivedHeartbeat> = {}) => {
    const said = { watchdogVersion: "1.0.0", helperVersion: null, updateEnded: false, wantedFacts: "any" as const };
    const machine = { hostname: null, os: null, arch: null, libc: null };
    const heartbeat = {
      ...machine,
      deviceId: id,
      orgId,
      agentVersion,
      ...said,
      reportedJson: null,
      clientAddress: null,
      meta,
    };
    const [result] = await recordHeartbeats(db(), [{ ...heartbeat, ...change }], intervalSeconds);
    return result?.status;
  };
  await beat("1.0.0");
  const begin = () => beginUpdates(db(), meta, [{ deviceId: id, component, version: "1.1.0", timeoutSeconds }]);
  expect(await begin()).toEqual([id]);
  return { id, orgId, beat, begin };
}

/** Moves the clock by this many seconds, with the watch running each second. */
async function pass(seconds: number): Promise<void> {
  const by = sql`make_interval(secs => ${seconds})`;
  await execute(
    sql`UPDATE devices SET last_seen_at = last_seen_at - ${by}, offline_check_at = offline_check_at - ${by}`,
  );
  await execute(sql`UPDATE presence_watch SET looked_at = clock_timestamp(), patient_until = '-infinity'`);
  await lookOnce({ db: db(), heartbeatIntervalSeconds: intervalSeconds });
}
async function stateOf(id: string) {
  const [row] = await db().read<{ status: string; agent_version: string }>(
    system,
    sql`SELECT status, agent_version, updating_version FROM devices WHERE id = ${id}`,
  );
  return row;
}

describe("an updating device", () => {
  it("is updating for 4:59 whatever old version it reports, and online with the new one at once", async () => {
    const { id, beat } = await updating();
    expect(await beat("1.0.0")).toBe("updating");
    await pass(299);
    expect(await stateOf(id)).toMatchObject({ status: "updating" });
    expect(await beat("v1.1.0+build")).toBe("online");
    expect(await stateOf(id)).toEqual({ status: "online", agent_version: "v1.1.0+build", updating_version: null });
  });

  it("is offline at 5:01, despite heartbeats in between, and online with its next heartbeat", async () => {
    const { id, beat } = await updating();
    await pass(290);
    expect(await beat("1.0.0")).toBe("updating");
    await pass(11);
    expect(await stateOf(id)).toMatchObject({ status: "offline", updating_version: null });
    const { events } = await fleet.messagesOf(id);
    expect(events.map(([, { status }]) => status)).toEqual(["offline", "online", "updating", "offline"]);
    await pass(59);
    expect(await beat("1.0.0")).toBe("online");
  });

  it.each(["1.1.0", "3.0.0", "nightly"])("is online when it comes back at 6:00 with %s", async (version) => {
    const { id, beat } = await updating();
    await pass(360);
    expect(await stateOf(id)).toMatchObject({ status: "offline" });
    expect(await beat(version)).toBe("online");
  });

  it("stays updating when the update is reported again, without more time", async () => {
    const { id, begin } = await updating();
    await pass(200);
    expect(await begin()).toEqual([id]);
    await pass(101);
    expect(await stateOf(id)).toMatchObject({ status: "offline" });
  });

  it("is online at once when it reports that its update has ended without the new version", async () => {
    const { beat } = await updating();
    expect(await beat("1.0.0", { updateEnded: true })).toBe("online");
  });

  it("is online at once when its offer is taken back, and stays so when that is repeated", async () => {
    const { id, beat } = await updating();
    for (const _ of [1, 2]) await endUpdates(db(), meta, [id, uuidv7()], intervalSeconds);
    expect(await stateOf(id)).toMatchObject({ status: "online", updating_version: null });
    const { events } = await fleet.messagesOf(id);
    expect(events.map(([, { status }]) => status)).toEqual(["offline", "online", "updating", "online"]);
    await pass(179);
    expect(await stateOf(id)).toMatchObject({ status: "online" });
    await pass(2);
    expect(await stateOf(id)).toMatchObject({ status: "offline" });
    expect(await beat("1.0.0")).toBe("online");
  });

  it("ends an update of its watchdog with the watchdog's version, not with the agent's", async () => {
    const { beat } = await updating("watchdog");
    expect(await beat("1.1.0")).toBe("updating");
    expect(await beat("1.1.0", { watchdogVersion: "1.1.0" })).toBe("online");
  });

  it("is not possible while it is quarantined, decommissioned or unknown", async () => {
    const { id, begin } = await updating();
    for (const status of ["quarantined", "decommissioned"]) {
      await execute(
        sql`UPDATE devices SET status = ${status}, decommissioned_at = CASE WHEN ${status} = 'decommissioned' THEN now() END, updating_component = NULL, updating_version = NULL WHERE id = ${id}`,
      );
      expect(await begin()).toEqual([]);
      expect(await stateOf(id)).toMatchObject({ status });
    }
    const unknown = { deviceId: uuidv7(), component: "agent", version: "1.1.0", timeoutSeconds };
    expect(await beginUpdates(db(), meta, [unknown])).toEqual([]);
  });
});
