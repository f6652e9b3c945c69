import { createHash } from "node:crypto";
import { type Database, type Job, jobs, sql } from "@muster/db";
import {
  AppError,
  type CallContext,
  type Caller,
  keepWorking,
  type Logger,
  type NoteVerifier,
  settledWithin,
  sleep,
  systemCaller,
  uuidv7,
} from "@muster/kit";
import { type ReleaseSource, SourceBusy, type SourceRelease } from "../clients/release-source.ts";
import { service } from "../config.ts";
import { platformOf } from "../rules/component.ts";
import type { Skipped } from "../rules/manifest.ts";
import { type CheckDeps, checkRelease, reasonOf, SyncFailed } from "./check-files.ts";
import { exchangeKeys, readRoot } from "./exchange-keys.ts";
import { type Prepared, registerRelease } from "./register-release.ts";
import { goneFiles, removeUnused } from "./remove-files.ts";

const kind = "sync";
const pollEveryMs = 100;
const heartbeatEveryMs = 5_000;
const everyMs = 5_000;
const farewellMs = 1_000;
/** A file is stored again when its release is deleted while another with the same bytes is being synced. */
const triesMax = 3;

export type SyncResult = { version: string; synced: string[]; skipped: Skipped[] };
type Failure = {
  code: "release_sync_failed" | "release_untrusted" | "agent_version_not_found" | "release_exists" | "unavailable";
  message: string;
  failed?: unknown;
  retryAfterSeconds?: number;
};
type Input = { source: string; version: string | null; caller: Caller; meta: CallContext["meta"] };

export type SyncDeps = Omit<CheckDeps, "onProgress" | "onStored" | "root"> & {
  /** Keys of manifests as they are set; root notes exchange them. */
  keys: readonly NoteVerifier[];
  db: Database;
  log: Logger;
  sources: readonly ReleaseSource[];
  autoPromote: boolean;
};

/**
 * Starts a sync, or joins the one in flight for the same source and version, and waits for its end. Throws the sync's
 * error; `deadline_exceeded` when the caller's deadline passes first: the sync continues.
 */
export async function syncReleases(
  deps: Pick<SyncDeps, "db" | "sources">,
  context: CallContext,
  { source, version }: { source: string; version: string | null },
  wake: () => void,
): Promise<SyncResult> {
  if (!deps.sources.some(({ name }) => name === source)) {
    throw new AppError("release_source_not_found", "Release source not found");
  }
  const id = await enqueue(deps.db, { source, version, caller: context.caller, meta: context.meta });
  wake();
  const work = jobs(deps.db);
  for (;;) {
    const job = await work.get(id);
    if (job?.state === "done") return job.result as SyncResult;
    if (job?.state === "failed") throw failureOf(job);
    if (context.deadlineMs !== null && performance.now() > context.deadlineMs - 500) {
      throw new AppError("deadline_exceeded", "The sync continues");
    }
    await sleep(pollEveryMs, context.signal);
    if (context.signal.aborted) throw new AppError("cancelled", "Cancelled");
  }
}

/** Works on requested syncs, also those that another process left unfinished; `wake` triggers a poll at once. */
export function startSyncing(deps: SyncDeps): { wake(): void; stop(): Promise<void> } {
  const stopping = new AbortController();
  const onFailure = (err: unknown) => deps.log.warn({ err }, "releases cannot be synced now");
  const worker = keepWorking(everyMs, (signal) => syncOnce(deps, signal), onFailure);
  let here: Promise<unknown> = Promise.resolve();
  return {
    wake() {
      here = here.then(() => syncOnce(deps, stopping.signal)).catch(onFailure);
    },
    async stop() {
      stopping.abort();
      // A sync that is aborted here is resumed by the process that finds its job silent.
      await settledWithin(farewellMs, Promise.all([worker.stop(), here]));
    },
  };
}

/** Runs all requested syncs; returns their number. */
export async function syncOnce(deps: SyncDeps, signal?: AbortSignal): Promise<number> {
  const work = jobs(deps.db);
  for (let done = 0; ; done++) {
    const job = signal?.aborted ? null : await work.claim({ kinds: [kind] });
    if (!job) return done;
    const beating = setInterval(() => void work.heartbeat(job).catch(() => undefined), heartbeatEveryMs);
    try {
      await work.finish(job, await sync(deps, job.input as Input));
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code === "release_sync_failed")
        deps.log.warn({ err: error, ...(job.input as Input).meta }, "sync failed");
      await work.fail(job, JSON.stringify(failure));
    } finally {
      clearInterval(beating);
    }
  }
}

async function sync(deps: SyncDeps, input: Input): Promise<SyncResult> {
  const source = deps.sources.find(({ name }) => name === input.source);
  if (!source) throw new AppError("release_source_not_found", "Release source not found");
  const found = await source.find(input.version).catch((error: unknown) => {
    throw error instanceof SourceBusy ? error : new SyncFailed([{ asset: "", reason: reasonOf(error) }]);
  });
  if (!found) throw new AppError("agent_version_not_found", "Agent version not found");
  const stored = new Set<string>();
  try {
    for (let tries = 1; ; tries++) {
      const { prepared, gone, skipped } = await checkAndRegister(deps, input, source.name, found, stored);
      if (gone.length === 0) return { version: found.version, synced: prepared.flatMap(syncedOf), skipped };
      if (tries === triesMax)
        throw new SyncFailed(gone.map((asset) => ({ asset, reason: "removed from the store meanwhile" })));
    }
  } catch (error) {
    await removeUnused(deps, [...stored]);
    throw error;
  }
}

/** Checks a release, then registers it, unless the store has lost one of its files since the check (`gone`). */
async function checkAndRegister(
  deps: SyncDeps,
  { caller, meta }: Input,
  source: string,
  found: SourceRelease,
  stored: Set<string>,
): Promise<{ prepared: Prepared[]; gone: string[]; skipped: Skipped[] }> {
  const itself = { caller: systemCaller(service) };
  const before = await deps.db.tx(itself, (tx) => readRoot(tx, deps.keys), { readOnly: true });
  const onStored = (sha256: string) => void stored.add(sha256);
  const { prepared, root, skipped } = await checkRelease({ ...deps, root: before, onStored }, source, found);
  const at = deps.now();
  const who = { caller, meta };
  const gone = await deps.db.tx(itself, async (tx) => {
    const missing = await goneFiles(tx, deps.storage, prepared);
    if (missing.length > 0) return missing;
    await exchangeKeys(tx, who, root, at);
    for (const each of prepared) {
      await registerRelease(tx, who, each, { autoPromote: deps.autoPromote, action: "agent_version.sync" }, at);
    }
    return missing;
  });
  return { prepared, gone, skipped };
}

function syncedOf({ manifest: { component, artifacts } }: Prepared): string[] {
  return artifacts.map((each) => `${component}:${platformOf(each)}`);
}

/** The open job of this source and version, else a new one. */
async function enqueue(db: Database, input: Input): Promise<string> {
  const { source, version } = input;
  const lock = createHash("sha256")
    .update(`${source}/${version ?? ""}`)
    .digest()
    .readInt32BE(0);
  return db.tx({ caller: systemCaller(service) }, async (tx) => {
    await tx.execute(sql`SELECT pg_advisory_xact_lock(5001, ${lock}::int)`);
    const [open] = await tx.query<{ id: string }>(sql`
      SELECT id FROM job WHERE kind = ${kind} AND state IN ('queued', 'running')
        AND input ->> 'source' = ${source} AND input ->> 'version' IS NOT DISTINCT FROM ${version}::text`);
    if (open) return open.id;
    const stored = { ...input, caller: { ...input.caller, mfaAt: null } };
    return jobs(db).enqueue({ kind, input: stored, id: uuidv7() }, tx);
  });
}

function asFailure(error: unknown): Failure {
  if (error instanceof SyncFailed) {
    const code = error.untrusted ? "release_untrusted" : "release_sync_failed";
    const message = error.untrusted ? "The release is not signed by a known key" : "The release could not be synced";
    return { code, message, failed: error.failed };
  }
  if (error instanceof SourceBusy) {
    return { code: "unavailable", message: "The release source is busy", retryAfterSeconds: error.retryAfterSeconds };
  }
  if (error instanceof AppError) {
    return { code: error.code as Failure["code"], message: error.message };
  }
  // Errors of the platform itself, such as the database's, are for the log alone.
  const failed = [{ asset: "", reason: "failed on the platform: its log has the cause" }];
  return { code: "release_sync_failed", message: "The release could not be synced", failed };
}

function failureOf(job: Job): AppError {
  const { code, message, failed, retryAfterSeconds } = JSON.parse(job.error ?? "{}") as Failure;
  return new AppError(code, message, {
    ...(failed ? { facts: { failed } } : {}),
    ...(retryAfterSeconds ? { retryAfterSeconds } : {}),
  });
}
