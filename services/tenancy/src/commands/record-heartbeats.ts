import type { Database, Tx } from "@muster/db";
import { counter, histogram, type RequestMeta, sleep, systemCaller } from "@muster/kit";
import { auditDevice, emitDevice } from "../emits/device.ts";
import { saysNothingNew, statusAfterHeartbeat } from "../rules/presence.ts";
import { announcementOf, factFields, factsAfter, factsOfRow } from "../rules/reported-facts.ts";
import { type DeviceFacts, factsOf } from "../store/device-facts.ts";
import { type DeviceRow, lockDevices } from "../store/devices.ts";
import {
  commitWithoutFlush,
  type Heartbeat,
  lockSeen,
  planByKey,
  touchDevices,
  writeHeartbeat,
} from "../store/presence.ts";

export type ReceivedHeartbeat = Heartbeat & { meta: RequestMeta };

const batchSize = histogram(
  "muster_tenancy_heartbeats_per_batch",
  "Heartbeats written in one transaction.",
  [],
  [1, 2, 5, 10, 25, 50, 100, 250, 500],
);

const lockedCounter = counter(
  "muster_tenancy_heartbeats_dropped_total",
  "Heartbeats not written because another transaction held their device.",
);

/**
 * Milliseconds before each further try of devices that another transaction holds. Few: all heartbeats of the call wait.
 */
const lockPausesMs = [10, 40, 80];

/**
 * What a device is after its heartbeat; `facts` when its row is of another version than the gateway knows. The status
 * is `locked` when nothing was written, since another transaction holds the device.
 */
export type HeartbeatResult = { status: string; facts: DeviceFacts | null };

/**
 * Writes heartbeats; returns each device's new state, null when the organization has no such device. Those that another
 * transaction holds are tried again for a moment, without a connection in between.
 */
export async function recordHeartbeats(
  db: Database,
  heartbeats: readonly ReceivedHeartbeat[],
  intervalSeconds: number,
  now = new Date(),
): Promise<(HeartbeatResult | null)[]> {
  batchSize.observe(heartbeats.length);
  // Of several heartbeats of a device within a batch the last one counts.
  const newest = new Map(heartbeats.map((heartbeat) => [heartbeat.deviceId, heartbeat]));
  const results = new Map<string, HeartbeatResult>();
  let left = [...newest.values()].sort((a, b) => (a.deviceId < b.deviceId ? -1 : 1));
  for (const pauseMs of [0, ...lockPausesMs]) {
    if (pauseMs > 0) await sleep(pauseMs);
    const { devices, locked } = await writeNow(db, left, { intervalSeconds, now });
    for (const [id, device] of devices) results.set(id, device);
    left = left.filter(({ deviceId }) => locked.has(deviceId));
    if (left.length === 0) break;
  }
  lockedCounter.inc(left.length);
  for (const { deviceId } of left) results.set(deviceId, { status: "locked", facts: null });
  return heartbeats.map(({ deviceId }) => results.get(deviceId) ?? null);
}

type Settings = { intervalSeconds: number; now: Date };

/**
 * Writes the heartbeats of devices that are not locked, in one transaction. Rows are locked in the order of ids;
 * heartbeats without changes take one UPDATE together.
 */
async function writeNow(
  db: Database,
  sorted: readonly ReceivedHeartbeat[],
  settings: Settings,
): Promise<{ devices: Map<string, HeartbeatResult>; locked: ReadonlySet<string> }> {
  return db.tx(
    { caller: systemCaller("tenancy") },
    async (tx) => {
      const ids = sorted.map(({ deviceId }) => deviceId);
      const planned = planByKey(tx);
      const [{ seen, locked }] = await Promise.all([lockSeen(tx, ids), planned]);
      const results = async () => ({
        devices: await resultsOf(tx, sorted, statuses, versions),
        locked: new Set(locked),
      });
      const before = new Map(seen.map((row) => [row.id, row]));
      const statuses = new Map<string, string>();
      const versions = new Map<string, number>();
      const common: ReceivedHeartbeat[] = [];
      const others: ReceivedHeartbeat[] = [];
      for (const heartbeat of sorted) {
        const row = before.get(heartbeat.deviceId);
        if (!row || row.org_id !== heartbeat.orgId) continue;
        statuses.set(row.id, row.status);
        versions.set(row.id, row.version);
        if (row.status === "decommissioned") continue;
        (saysNothingNew(row, heartbeat, settings.now) ? common : others).push(heartbeat);
      }
      if (common.length > 0) await touchDevices(tx, common);
      if (others.length === 0) {
        await commitWithoutFlush(tx);
        return results();
      }
      const changing = others.map(({ deviceId }) => deviceId);
      const rows = new Map((await lockDevices(tx, systemCaller("tenancy"), changing)).map((row) => [row.id, row]));
      // Not one after the other: all are on their way before the first is answered.
      await Promise.all(
        others.map(async (heartbeat) => {
          const row = rows.get(heartbeat.deviceId);
          if (!row) return;
          const after = await apply(tx, heartbeat, row, settings);
          statuses.set(after.id, after.status);
          versions.set(after.id, after.version);
        }),
      );
      return results();
    },
    { retry: true },
  );
}

/** Read only for devices whose row has changed since the gateway learned that there is nothing to do: rarely any. */
async function resultsOf(
  tx: Tx,
  heartbeats: readonly ReceivedHeartbeat[],
  statuses: ReadonlyMap<string, string>,
  versions: ReadonlyMap<string, number>,
): Promise<Map<string, HeartbeatResult>> {
  const changed = heartbeats.filter(({ deviceId, wantedFacts: wanted }) => {
    const status = statuses.get(deviceId);
    const isWanted = wanted === "any" || (wanted !== "none" && versions.get(deviceId) !== wanted.otherThan);
    return isWanted && status !== undefined && status !== "decommissioned";
  });
  const ids = changed.map(({ deviceId }) => deviceId);
  const facts = new Map((ids.length > 0 ? await factsOf(tx, ids) : []).map((row) => [row.id, row]));
  return new Map([...statuses].map(([id, status]) => [id, { status, facts: facts.get(id) ?? null }]));
}

/** Writes a heartbeat with news: one event and one audit row at most, however many facts have changed. */
async function apply(
  tx: Tx,
  heartbeat: ReceivedHeartbeat,
  before: DeviceRow,
  { intervalSeconds, now }: Settings,
): Promise<DeviceRow> {
  const status = statusAfterHeartbeat(before, heartbeat);
  const [was, facts] = [factsOfRow(before), factsAfter(before, heartbeat)];
  const { announced, ...changes } = announcementOf(was, facts, before.announced_facts, now);
  const changedFields = Object.keys(changes.after);
  const isOnlineNow = status !== before.status;
  const isChanged = changedFields.length > 0 || factFields.some((field) => facts[field] !== was[field]);
  const tells = isOnlineNow || isChanged;
  const caller = systemCaller("tenancy");
  const after = await writeHeartbeat(tx, caller, heartbeat, { status, facts, announced, tells, intervalSeconds });
  const event = isOnlineNow ? "device.online" : changedFields.length > 0 ? "device.updated" : null;
  const { meta } = heartbeat;
  if (tells) emitDevice(tx, { meta }, "updated", after, event);
  if (changedFields.length > 0) auditAgent(tx, heartbeat, after, "device.update", { changedFields, changes }, now);
  const [from, to] = [before.last_ip_address, after.last_ip_address];
  if (from !== null && from !== to) {
    const details = {
      changedFields: ["lastIpAddress"],
      changes: { before: { lastIpAddress: from }, after: { lastIpAddress: to } },
    };
    auditAgent(tx, heartbeat, after, "agent.source.ip.changed", details, now);
  }
  return after;
}

function auditAgent(
  tx: Tx,
  { meta }: ReceivedHeartbeat,
  row: DeviceRow,
  action: string,
  details: Record<string, unknown>,
  at: Date,
): void {
  const caller = systemCaller("tenancy");
  const agent = { ...caller.actor, type: "agent" as const, id: row.id, name: row.hostname };
  auditDevice(tx, { caller: { ...caller, actor: agent }, meta }, { action, row, details }, at);
}
