import { fileURLToPath } from "node:url";
import { fromBinary } from "@bufbuild/protobuf";
import { sql, type Tx } from "@muster/db";
import { createLogger, generateNoteKey, noteKeys, signNote, systemCaller, uuidv7 } from "@muster/kit";
import { type AuditEvent, AuditEventSchema } from "@muster/proto/muster/events/v1/audit_pb";
import { tenantMigrations } from "@muster/service";
import { testDatabase } from "@muster/testing";
import { contactDue } from "../commands/contact-due.ts";
import { type DecideDeps, decideForDevices, type Question } from "../commands/decide.ts";
import { createPlanMemory } from "../commands/plan-memory.ts";
import { registerRelease } from "../commands/register-release.ts";
import { migrations, service } from "../config.ts";
import { asItself } from "../emits/audit.ts";
import { bumpPlan } from "../store/plan.ts";
import { insertRollout, type NewRollout } from "../store/rollouts.ts";

type Counted = { state: string; in_flight: number; succeeded: number; failed: number; reason: string | null };
export type TestRelease = Awaited<ReturnType<typeof startRelease>>;

/** Signs the manifests of the releases. */
export const releaseSigner = noteKeys(generateNoteKey("releases")).signer;

/** An agent of that version, for one platform. */
function registered(tx: Tx, version: string, autoPromote: boolean, counter = 0) {
  const artifacts = [{ os: "linux" as const, arch: "amd64" as const, size: 1, sha256: "a".repeat(64), name: "agent" }];
  const manifest = { version, component: "agent" as const, counter, artifacts };
  const note = signNote(`${JSON.stringify(manifest)}\n`, releaseSigner);
  const prepared = { manifest, signed: true, prerelease: false, note, source: "api", notesUrl: null, files: new Map() };
  const options = { autoPromote, action: "agent_version.register" as const };
  return registerRelease(tx, asItself(), prepared, options, new Date());
}

/**
 * The service's commands on a real database; the fake tenancy accepts the devices that `begin` returns, all by default.
 */
export async function startRelease(change: Partial<DecideDeps> = {}) {
  const dirs = [tenantMigrations, { label: service, path: fileURLToPath(migrations) }];
  const database = await testDatabase({ service, dirs });
  const { db } = database;
  const who = { caller: systemCaller(service) };
  const ended: string[] = [];
  const deps: DecideDeps = {
    db,
    log: createLogger("test", "fatal"),
    now: () => new Date(),
    contactDue: contactDue(),
    plan: createPlanMemory({ unsigned: false, keys: [releaseSigner] }),
    begin: async (updates) => new Set(updates.map(({ deviceId }) => deviceId)),
    end: async (deviceIds) => void ended.push(...deviceIds),
    timeoutSeconds: 300,
    backOffMs: [3_600_000, 4 * 3_600_000, 24 * 3_600_000],
    progressMaxSeconds: 3_600,
    ramp: { startBudget: 0, firstDeviceAlone: false },
    heartbeatIntervalSeconds: 60,
    ...change,
  };
  return {
    database,
    deps,
    /** Devices that tenancy was notified of, since they update no more. */
    ended,
    /** A device that runs 1.0.0, and its agent's reports. */
    question(versions: object = {}, more: Partial<Question["device"]> = {}): Question {
      const id = uuidv7();
      const own = { agent: "1.0.0", watchdog: null, helper: null, ...versions };
      const owner = { orgId: uuidv7(), partnerId: uuidv7(), siteId: null, groupIds: [], labels: {} };
      const machine = { os: "linux", arch: "amd64", autoUpdateEnabled: true, status: "online" };
      return { device: { id, ...owner, ...machine, versions: own, ...more }, report: null };
    },
    decide: (...questions: Question[]) => decideForDevices(deps, questions),
    /** Registers and promotes an agent; limits of its guard as given. */
    async release(
      version: string,
      guard: { maxInFlight?: number; haltFailures?: number; soakSeconds?: number; counter?: number } = {},
    ) {
      await db.tx(who, async (tx) => {
        const row = await registered(tx, version, true, guard.counter);
        await tx.execute(sql`
          UPDATE rollout SET max_in_flight = ${guard.maxInFlight ?? 1_000}, halt_failures = ${guard.haltFailures ?? 50},
                             soak_seconds = ${guard.soakSeconds ?? 0}
          WHERE release_id = ${row?.id ?? null}::uuid`);
        await bumpPlan(tx, { scope: "all" });
      });
    },
    /** Registers an agent and rolls it out in stages; the rollout's id. */
    async stage(version: string, change: Partial<NewRollout> = {}, counter = 0): Promise<string> {
      const id = uuidv7();
      await db.tx(who, async (tx) => {
        const row = await registered(tx, version, false, counter);
        const limits = { max_in_flight: 1_000, halt_failures: 50, halt_percent: 3, soak_seconds: 0 };
        const wave = { wave_success_percent: null };
        const audience = { rings: [], open_rings: 0, percent: 100 };
        const common = { id, release_id: String(row?.id), created_by: "test", created_at: new Date() };
        await insertRollout(tx, {
          kind: "staged",
          state: "running",
          ...common,
          ...limits,
          ...wave,
          ...audience,
          ...change,
        });
        await bumpPlan(tx, { scope: "all" });
      });
      return id;
    },
    /** Changes catalogue or rollouts from now on. */
    async change(statement: ReturnType<typeof sql>) {
      await db.tx(who, async (tx) => {
        await tx.execute(statement);
        await bumpPlan(tx, { scope: "all" });
      });
    },
    /** Changes settings of a partner, or of an organization of its, from now on. */
    async changeSettings(partnerId: string, statement: ReturnType<typeof sql>) {
      await db.tx(who, async (tx) => {
        await tx.execute(statement);
        await bumpPlan(tx, { scope: "partner", id: partnerId });
      });
    },
    async rollout(version: string) {
      const [row] = await db.read<Counted>(
        who,
        sql`SELECT t.state, t.in_flight, t.succeeded, t.failed, t.reason FROM rollout t JOIN release r ON r.id = t.release_id
            WHERE r.version = ${version} AND t.kind = 'guard'`,
      );
      return row;
    },
    /** Details of the newest audit row of an action. */
    async lastAudit(action: string): Promise<Record<string, unknown>> {
      return JSON.parse((await this.lastAuditEvent(action))?.detailsJson ?? "{}");
    },
    /** The newest audit row of an action. */
    async lastAuditEvent(action: string): Promise<AuditEvent | undefined> {
      const rows = await db.read<{ body: Buffer; subject: string }>(
        who,
        sql`SELECT body FROM outbox WHERE subject LIKE 'audit.%' ORDER BY id DESC`,
      );
      return rows.map(({ body }) => fromBinary(AuditEventSchema, body)).find((event) => event.action === action);
    },
    read: <T extends object>(query: ReturnType<typeof sql>) => db.read<T>(who, query),
    async execute(statement: ReturnType<typeof sql>) {
      await db.tx(who, (tx) => tx.execute(statement));
    },
    stop: () => database.drop(),
  };
}
