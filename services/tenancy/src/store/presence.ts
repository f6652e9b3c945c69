import { type Database, sql, type Tx } from "@muster/db";
import type { Caller } from "@muster/kit";
import { missedMax, watchPauseSeconds } from "../rules/presence.ts";
import type { AnnouncedFacts, FactColumns, ReportedFacts } from "../rules/reported-facts.ts";
import { type DeviceRow, deviceColumns } from "./devices.ts";

/** A heartbeat as the gateway forwards it; null for fields that the agent omitted. */
export type Heartbeat = {
  deviceId: string;
  orgId: string;
  agentVersion: string;
  watchdogVersion: string | null;
  helperVersion: string | null;
  hostname: string | null;
  os: string | null;
  arch: string | null;
  libc: string | null;
  updateEnded: boolean;
  /** Whether the reply has the device's facts: always, never, or where its row has another version. */
  wantedFacts: "any" | "none" | { otherThan: number };
  reportedJson: string | null;
  clientAddress: string | null;
};

/** What a heartbeat is compared with. */
export type SeenDevice = FactColumns & {
  id: string;
  org_id: string;
  status: string;
  updating_component: string | null;
  updating_version: string | null;
  version: number;
  last_ip_address: string | null;
  last_seen_at: Date | null;
};

/**
 * By primary key, whatever the planner estimates: it assumes that the policies leave one row, and for so few it may
 * read the whole table.
 */
export async function planByKey(tx: Tx): Promise<void> {
  await tx.execute(sql`SELECT set_config('enable_seqscan', 'off', true)`);
}

const seenColumns = sql`id, org_id, status, hostname, agent_hostname, os, arch, libc, announced_facts, agent_version, watchdog_version, helper_version, updating_component,
  updating_version, version, host(last_ip_address) AS last_ip_address, last_seen_at`;

/**
 * The devices with these ids, locked in the order of their ids, without those that another transaction has locked:
 * their ids are `locked`. A wait for one of them, such as a device of a site under deletion, would keep the heartbeats
 * of all other tenants waiting, too.
 */
export async function lockSeen(tx: Tx, ids: readonly string[]): Promise<{ seen: SeenDevice[]; locked: string[] }> {
  const seen = await tx.query<SeenDevice>(sql`
    SELECT ${seenColumns} FROM devices WHERE id = ANY (${[...ids]}::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`);
  const found = new Set(seen.map(({ id }) => id));
  const others = ids.filter((id) => !found.has(id));
  if (others.length === 0) return { seen, locked: [] };
  const rows = await tx.query<{ id: string }>(sql`SELECT id FROM devices WHERE id = ANY (${others}::uuid[])`);
  return { seen, locked: rows.map(({ id }) => id) };
}

/** Records the heartbeat times of locked devices, and their reports. No index is touched. */
export async function touchDevices(tx: Tx, heartbeats: readonly Heartbeat[]): Promise<void> {
  const said = heartbeats.flatMap(({ deviceId, reportedJson }) =>
    reportedJson === null ? [] : [`${JSON.stringify(deviceId)}:${reportedJson}`],
  );
  // One table and its key: nothing here for the planner to get wrong.
  await tx.execute(sql`
    UPDATE devices
    SET last_seen_at = clock_timestamp(), reported = coalesce(${`{${said.join(",")}}`}::jsonb -> id::text, reported)
    WHERE id = ANY (${heartbeats.map(({ deviceId }) => deviceId)}::uuid[])`);
}

/**
 * COMMIT does not wait for the disk: a crash of the database can lose the times of the last second, which the next
 * heartbeats replace.
 */
export async function commitWithoutFlush(tx: Tx): Promise<void> {
  await tx.execute(sql`SELECT set_config('synchronous_commit', 'off', true)`);
}

/** Writes a heartbeat of a locked device with all its changes; `tells` when a field of its record has changed. */
export async function writeHeartbeat(
  tx: Tx,
  caller: Caller,
  heartbeat: Heartbeat,
  after: {
    status: string;
    facts: ReportedFacts;
    announced: AnnouncedFacts;
    tells: boolean;
    intervalSeconds: number;
  },
): Promise<DeviceRow> {
  const { status, facts, announced, tells, intervalSeconds } = after;
  const announcedJson = Object.keys(announced).length > 0 ? JSON.stringify(announced) : null;
  const [row] = await tx.query<DeviceRow>(sql`
    UPDATE devices
    SET last_seen_at = clock_timestamp(), status = ${status}, agent_version = ${facts.agentVersion},
        watchdog_version = ${facts.watchdogVersion}, helper_version = ${facts.helperVersion},
        hostname = ${facts.hostname}, os = ${facts.os}, arch = ${facts.arch}, libc = ${facts.libc},
        agent_hostname = coalesce(${heartbeat.hostname}, agent_hostname), announced_facts = ${announcedJson}::jsonb,
        updating_component = CASE WHEN ${status} = 'updating' THEN updating_component END,
        updating_version = CASE WHEN ${status} = 'updating' THEN updating_version END,
        reported = coalesce(${heartbeat.reportedJson}::jsonb, reported),
        last_ip_address = coalesce(${heartbeat.clientAddress}::inet, last_ip_address),
        offline_check_at = CASE WHEN ${status} = 'online' AND devices.status <> 'online'
          THEN clock_timestamp() + make_interval(secs => ${missedMax * intervalSeconds}) ELSE offline_check_at END,
        version = version + ${tells ? 1 : 0}, updated_at = CASE WHEN ${tells} THEN clock_timestamp() ELSE updated_at END
    WHERE id = ${heartbeat.deviceId}::uuid RETURNING ${deviceColumns(caller)}`);
  if (!row) throw new Error("a device that was locked has gone");
  return row;
}

/** Whether there is a device that could go offline. Index devices_presence_check. */
export async function isAnyWatched(db: Database, who: Parameters<Database["read"]>[0]): Promise<boolean> {
  const rows = await db.read(
    who,
    sql`SELECT FROM devices WHERE status IN ('online', 'updating') ORDER BY offline_check_at LIMIT 1`,
  );
  return rows.length > 0;
}

/**
 * Takes the watch's lock for this transaction; false when another replica holds it. After a pause of the watch devices
 * have an interval and a half for a heartbeat, since earlier ones may have been lost: then `patient` is true.
 */
export async function takeWatch(tx: Tx, intervalSeconds: number): Promise<{ patient: boolean } | null> {
  const [mine] = await tx.query(sql`SELECT FROM presence_watch WHERE one FOR UPDATE SKIP LOCKED`);
  if (!mine) return null;
  const [row] = await tx.query<{ patient: boolean }>(sql`
    UPDATE presence_watch
    SET looked_at = clock_timestamp(),
        patient_until = CASE WHEN looked_at < clock_timestamp() - make_interval(secs => ${watchPauseSeconds})
          THEN clock_timestamp() + make_interval(secs => ${1.5 * intervalSeconds}) ELSE patient_until END
    WHERE one RETURNING patient_until > clock_timestamp() AS patient`);
  return { patient: row?.patient ?? false };
}

/**
 * Checks up to `limit` devices whose time has come (index devices_presence_check), without those of the organizations
 * and partners `without`: those with a heartbeat in the meantime get a new time, the others become offline, `gone`.
 */
export async function findGone(
  tx: Tx,
  caller: Caller,
  intervalSeconds: number,
  { limit, without }: { limit: number; without: readonly string[] },
): Promise<{ looked: DeviceRow[]; gone: DeviceRow[] }> {
  const patience = sql`make_interval(secs => ${missedMax * intervalSeconds})`;
  // An update has its own deadline, whatever heartbeats arrived meanwhile.
  const isThere = sql`(devices.status = 'online' AND last_seen_at > clock_timestamp() - ${patience})`;
  const ids = sql`${[...without]}::uuid[]`;
  const ofOthers = without.length === 0 ? sql`true` : sql`org_id <> ALL (${ids}) AND partner_id <> ALL (${ids})`;
  const looked = await tx.query<DeviceRow>(sql`
    WITH due AS (
      SELECT id FROM devices
      WHERE status IN ('online', 'updating') AND offline_check_at <= clock_timestamp() AND ${ofOthers}
      ORDER BY offline_check_at LIMIT ${limit} FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE devices
    SET status = CASE WHEN ${isThere} THEN 'online' ELSE 'offline' END,
        offline_check_at = CASE WHEN ${isThere} THEN last_seen_at + ${patience} END,
        updating_component = NULL, updating_version = NULL,
        version = version + CASE WHEN ${isThere} THEN 0 ELSE 1 END,
        updated_at = CASE WHEN ${isThere} THEN updated_at ELSE clock_timestamp() END
    WHERE id IN (SELECT id FROM due)
    RETURNING ${deviceColumns(caller)}`);
  return { looked, gone: looked.filter(({ status }) => status === "offline") };
}

/** Deletes discarded enrollments that can no longer complete; returns their number. */
export function forgetDiscarded(tx: Tx): Promise<number> {
  return tx.execute(sql`DELETE FROM discarded_devices WHERE discarded_at < now() - interval '7 days'`);
}

export type StartedUpdate = { deviceId: string; component: string; version: string; timeoutSeconds: number };

/**
 * Marks devices as updating until their deadline; returns those newly marked, and the ids of all that update to that
 * version. Rows are locked in the order of ids; a device that another transaction has locked is left out. A device that
 * already updates to it keeps its deadline.
 */
export async function storeStartedUpdates(
  tx: Tx,
  caller: Caller,
  updates: readonly StartedUpdate[],
): Promise<{ started: DeviceRow[]; ids: string[] }> {
  const ids = updates.map(({ deviceId }) => deviceId);
  const before = new Map((await lockSeen(tx, ids)).seen.map((row) => [row.id, row]));
  const updatingNow = ({ deviceId, component, version }: StartedUpdate) => {
    const row = before.get(deviceId);
    return row?.status === "updating" && row.updating_component === component && row.updating_version === version;
  };
  const fresh = updates.filter((update) => {
    const status = before.get(update.deviceId)?.status;
    return !updatingNow(update) && (status === "online" || status === "offline" || status === "updating");
  });
  const started =
    fresh.length === 0
      ? []
      : await tx.query<DeviceRow>(sql`
          UPDATE devices
          SET status = 'updating', updating_component = g.to_component, updating_version = g.to_version,
              offline_check_at = clock_timestamp() + make_interval(secs => g.seconds),
              version = devices.version + 1, updated_at = clock_timestamp()
          FROM unnest(${fresh.map(({ deviceId }) => deviceId)}::uuid[], ${fresh.map(({ component }) => component)}::text[],
                      ${fresh.map(({ version }) => version)}::text[], ${fresh.map(({ timeoutSeconds }) => timeoutSeconds)}::int[])
               AS g (device_id, to_component, to_version, seconds)
          WHERE devices.id = g.device_id RETURNING ${deviceColumns(caller)}`);
  const all = [...started.map(({ id }) => id), ...updates.filter(updatingNow).map(({ deviceId }) => deviceId)];
  return { started, ids: all };
}

/** Stores how devices stand to their targets; those that another transaction has locked are left out. */
export async function storeUpdateStates(tx: Tx, states: readonly { deviceId: string; state: string }[]): Promise<void> {
  const byId = new Map(states.map(({ deviceId, state }) => [deviceId, state]));
  const { seen } = await lockSeen(tx, [...byId.keys()]);
  const ids = seen.filter(({ status }) => status !== "decommissioned").map(({ id }) => id);
  if (ids.length === 0) return;
  await tx.execute(sql`
    UPDATE devices SET update_state = nullif(g.state, '')
    FROM unnest(${ids}::uuid[], ${ids.map((id) => byId.get(id) ?? "")}::text[]) AS g (device_id, state)
    WHERE devices.id = g.device_id`);
  await commitWithoutFlush(tx);
}

/** Marks devices that are updating as online again; locked in the order of ids, those that are locked are left out. */
export async function storeEndedUpdates(
  tx: Tx,
  caller: Caller,
  ids: readonly string[],
  intervalSeconds: number,
): Promise<DeviceRow[]> {
  const { seen } = await lockSeen(tx, ids);
  const updating = seen.filter(({ status }) => status === "updating").map(({ id }) => id);
  if (updating.length === 0) return [];
  return tx.query<DeviceRow>(sql`
    UPDATE devices
    SET status = 'online', updating_component = NULL, updating_version = NULL,
        offline_check_at = clock_timestamp() + make_interval(secs => ${missedMax * intervalSeconds}),
        version = version + 1, updated_at = clock_timestamp()
    WHERE id = ANY (${updating}::uuid[]) RETURNING ${deviceColumns(caller)}`);
}
