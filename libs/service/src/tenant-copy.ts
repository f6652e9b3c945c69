import { fileURLToPath } from "node:url";
import type { Bus, BusMessage } from "@muster/bus";
import { type Database, deadLetters, type MigrationDir, sql, type Tx } from "@muster/db";
import { backoffMs, counter, isUuid, type Logger, messageOf, sleep, systemCaller } from "@muster/kit";
import {
  type DeviceChanged,
  DeviceChangedSchema,
  type TenantChanged,
  TenantChangedSchema,
} from "@muster/proto/muster/events/v1/tenancy_pb";
import { decode } from "@muster/rpc";
import type { TenancySnapshot } from "./tenancy-snapshot.ts";
import { applyTenants, copyHash, dropUnheard, type TenantChange, tenantKinds } from "./tenant-store.ts";

/** The table `tenant`; runs before the service's own migrations. */
export const tenantMigrations: MigrationDir = {
  label: "service",
  path: fileURLToPath(new URL("../migrations", import.meta.url)),
};

/** Called with each row whose status or deletion is new, in the transaction that stores it. */
export type OnTenantChange = (tx: Tx, change: TenantChange) => Promise<void> | void;

/**
 * Called with the device events of a batch, oldest first and repeats included, in the transaction that takes the batch
 * in.
 */
export type OnDeviceChanges = (tx: Tx, changes: readonly DeviceChanged[]) => Promise<void>;

/**
 * A tenant whose data is to be deleted: all that belongs to the organization, or to the partner and its organizations.
 */
export type PurgedTenant = { kind: "organization" | "partner"; id: string };

/** Called with each tenant whose data is to be deleted, repeats included, in the transaction that takes the event. */
export type OnPurged = (tx: Tx, tenant: PurgedTenant) => Promise<void>;

export type TenantCopyDeps = {
  db: Database;
  /** Name of the service: its durable on TENANCY. */
  service: string;
  log: Logger;
  onChange?: OnTenantChange;
  onDevices?: OnDeviceChanges;
  onPurged?: OnPurged;
};

const checkEveryMs = 86_400_000;
const batchMax = 100;
const settledAfterMs = 2_000;

const eventsCounter = counter("muster_bus_tenant_copy_events_total", "Events of stream TENANCY taken into the copy.", [
  "kind",
]);
const rebuildCounter = counter(
  "muster_bus_tenant_copy_rebuilds_total",
  "Times the copy was filled from tenancy's snapshot.",
);

/** Keeps the copy in step with stream TENANCY until stopped; unreadable events go to the dead letters. */
export function followTenancy(bus: Pick<Bus, "consume">, deps: TenantCopyDeps): { stop(): Promise<void> } {
  const letters = deadLetters(deps.db);
  const letterOf = (m: BusMessage, reason: string) => {
    const { subject, msgId, body, traceparent } = m;
    return { subject, msgId, reason, body, traceparent, attempts: m.deliveries };
  };
  return bus.consume(
    {
      stream: "TENANCY",
      durable: deps.service,
      filterSubject: "tenancy.>",
      maxAckPending: batchMax,
      batchMax,
      batchBytes: 1_048_576,
      maxDeliver: 10,
      onDeadLetter: async (message, reason) => void (await letters.put(letterOf(message, reason))),
    },
    async (batch) => {
      const { onDevices, onPurged } = deps;
      const read: Read[] = batch
        .filter(({ subject }) => isTenantSubject(subject))
        .map((message) => ({ message, device: null, purged: null, ...readChange(message) }));
      if (onDevices) {
        const devices = batch.filter(({ subject }) => isDeviceSubject(subject));
        read.push(...devices.map((message) => ({ message, change: null, purged: null, ...readDevice(message) })));
      }
      if (onPurged) {
        for (const message of batch.filter(({ subject }) => isPurgeSubject(subject))) {
          const { change, reason } = readChange(message);
          read.push({ message, device: null, change: null, purged: change && purgedOf(change), reason });
        }
      }
      if (read.length === 0) return;
      await deps.db.tx(systemOf(deps), async (tx) => {
        for (const { message, reason } of read) {
          if (reason === null) continue;
          deps.log.error({ subject: message.subject, msgId: message.msgId, reason }, "tenancy event unreadable");
          await letters.put(letterOf(message, reason), tx);
        }
        const changes = read.flatMap(({ change }) => (change ? [change] : []));
        await report(tx, deps, await applyTenants(tx, changes));
        for (const { kind } of changes) eventsCounter.inc({ kind });
        const devices = read.flatMap(({ device }) => (device ? [device] : []));
        if (onDevices && devices.length > 0) await onDevices(tx, devices);
        for (const { purged } of read) {
          if (purged) await onPurged?.(tx, purged);
        }
        if (devices.length > 0) eventsCounter.inc({ kind: "device" }, devices.length);
      });
    },
  );
}

/**
 * Compares the copy with tenancy by hash and fills it again when they differ. A difference that disappears within
 * `settleMs` was only an event on its way. Throws the errors of tenancy and the database, and that of an aborted call.
 */
export async function reconcileTenants(
  deps: TenantCopyDeps,
  snapshot: TenancySnapshot,
  settleMs = settledAfterMs,
  signal?: AbortSignal,
): Promise<"same" | "rebuilt"> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const theirs = await snapshot.hash(signal);
    const ours = await deps.db.tx(systemOf(deps), (tx) => copyHash(tx), { readOnly: true });
    if (ours.sha256 === theirs.sha256) return "same";
    if (ours.count === 0) break;
    await sleep(settleMs, signal);
    if (signal?.aborted) throw signal.reason;
  }
  await rebuild(deps, snapshot, signal);
  return "rebuilt";
}

/** Reconciles now, again until it succeeds, and then once a day. Stopping ends a running call to tenancy. */
export function startReconciling(deps: TenantCopyDeps, snapshot: TenancySnapshot): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const run = async () => {
    for (let attempt = 0; !stopping.signal.aborted; attempt++) {
      try {
        const outcome = await reconcileTenants(deps, snapshot, settledAfterMs, stopping.signal);
        deps.log.info({ outcome }, "tenant copy compared with tenancy");
        return;
      } catch (err) {
        if (stopping.signal.aborted) return;
        // Services start in any order: the first tries may well find tenancy not there yet.
        const level = attempt < 5 ? "info" : "warn";
        deps.log[level]({ reason: messageOf(err) }, "tenant copy cannot be compared with tenancy yet");
        await sleep(backoffMs(attempt, 250, 30_000), stopping.signal);
      }
    }
  };
  const begin = () => {
    running = running.then(run);
  };
  begin();
  const timer = setInterval(begin, checkEveryMs);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/** Applies rows newer than the copy's own, and reports them like events. */
export async function takeTenants(
  deps: TenantCopyDeps,
  tenants: readonly TenantChanged[],
  asOf: string | null = null,
): Promise<void> {
  await deps.db.tx(systemOf(deps), async (tx) => report(tx, deps, await applyTenants(tx, tenants, asOf)));
}

async function rebuild(deps: TenantCopyDeps, snapshot: TenancySnapshot, signal?: AbortSignal): Promise<void> {
  const { db, log } = deps;
  // Rows received before this time are compared with the snapshot. As text: a Date would drop the microseconds.
  const [clock] = await db.read<{ at: string }>(systemOf(deps), sql`SELECT clock_timestamp()::text AS at`);
  const asOf = clock?.at ?? null;
  if (asOf === null) throw new Error("PostgreSQL answered without its clock");
  let tenants = 0;
  let cursor = "";
  do {
    const page = await snapshot.page(cursor, signal);
    await takeTenants(deps, page.tenants, asOf);
    tenants += page.tenants.length;
    cursor = page.nextCursor;
  } while (cursor !== "");
  await db.tx(systemOf(deps), async (tx) => report(tx, deps, await dropUnheard(tx, asOf)));
  rebuildCounter.inc();
  log.info({ tenants }, "tenant copy filled from the snapshot");
}

async function report(tx: Tx, deps: TenantCopyDeps, changes: readonly TenantChange[]): Promise<void> {
  if (!deps.onChange) return;
  for (const change of changes) await deps.onChange(tx, change);
}

const systemOf = (deps: TenantCopyDeps) => ({ caller: systemCaller(deps.service) });

function isTenantSubject(subject: string): boolean {
  const [, kind, change] = subject.split(".");
  return tenantKinds.some((k) => k === kind) && ["created", "updated", "deleted"].includes(change ?? "");
}

type Read = {
  message: BusMessage;
  change: TenantChanged | null;
  device: DeviceChanged | null;
  purged: PurgedTenant | null;
  reason: string | null;
};

const purgedOf = ({ kind, id }: TenantChanged): PurgedTenant | null =>
  kind === "organization" || kind === "partner" ? { kind, id } : null;

function isPurgeSubject(subject: string): boolean {
  return /^tenancy\.(?:organization|partner)\.purged$/.test(subject);
}

function isDeviceSubject(subject: string): boolean {
  return /^tenancy\.device\.(?:created|updated|decommissioned)$/.test(subject);
}

function readDevice(message: BusMessage): { device: DeviceChanged | null; reason: string | null } {
  try {
    const device = decode(DeviceChangedSchema, message.body);
    if (![device.id, device.orgId, device.partnerId].every(isUuid)) return { device: null, reason: "an id is no UUID" };
    return { device, reason: null };
  } catch (error) {
    return { device: null, reason: `not decodable: ${messageOf(error)}` };
  }
}

function readChange(message: BusMessage): { change: TenantChanged | null; reason: string | null } {
  try {
    const change = decode(TenantChangedSchema, message.body);
    const isKind = tenantKinds.some((kind) => kind === change.kind && message.subject.startsWith(`tenancy.${kind}.`));
    if (!isKind) return { change: null, reason: `kind "${change.kind.slice(0, 40)}" under this subject` };
    const ids = [change.id, change.partnerId, ...(change.kind === "partner" ? [] : [change.orgId])];
    if (!ids.every(isUuid)) return { change: null, reason: "an id is no UUID" };
    return { change, reason: null };
  } catch (error) {
    return { change: null, reason: `not decodable: ${messageOf(error)}` };
  }
}
