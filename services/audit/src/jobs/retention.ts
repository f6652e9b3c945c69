import type { Database } from "@muster/db";
import {
  counter,
  gauge,
  type Logger,
  type NoteSigner,
  ownMeta,
  type RequestMeta,
  signNote,
  sleep,
  systemCaller,
} from "@muster/kit";
import { auditEvent } from "@muster/service";
import type { Archive } from "../clients/archive/archive.ts";
import type { ArchiveReference } from "../rules/archive-chunk.ts";
import { receiptText } from "../rules/receipt.ts";
import {
  chainsFrom,
  type DueChain,
  type DuePiece,
  databaseNow,
  duePiece,
  noteCleanup,
  prune,
} from "../store/pruning.ts";
import type { RetentionLease } from "../store/retention-lease.ts";
import { archiveChunk } from "./archive-chunk.ts";

export type RetentionDeps = {
  db: Database;
  /** Null: no archive; chains whose policy requires one are not pruned then. */
  archive: Archive | null;
  lease: RetentionLease;
  signer: NoteSigner;
  deployment: string;
  log: Logger;
  /** Of chains that have no policy of their own. */
  defaultDays: number;
  chunkRows: number;
  chunkBytes: number;
  chainsPerRead: number;
};

type Chains = Awaited<ReturnType<typeof chainsFrom>>;

export type Pass = { pruned: number; blocked: number };

const prunedRows = counter(
  "muster_audit_retention_rows_pruned_total",
  "Rows deleted after their window, receipts written.",
);
const archivedBytes = counter(
  "muster_audit_retention_archived_bytes_total",
  "Compressed bytes archived before deletion.",
);
const failures = counter("muster_audit_retention_failures_total", "Chunks that could not be pruned, by step.", [
  "step",
]);
const blockedChains = gauge(
  "muster_audit_retention_blocked_chains",
  "Chains that are due and could not be pruned in the last pass.",
);
const lastPass = gauge(
  "muster_audit_retention_last_success_timestamp_seconds",
  "Unix time at which the last pass over all chains ended.",
);

const byItself: RequestMeta = ownMeta("retention");
const self = { caller: systemCaller("audit-retention"), meta: byItself };

/**
 * Processes all chains once and prunes each one's contiguous oldest prefix past its window, chunk by chunk. A chain
 * that cannot be pruned stays unchanged and is counted; the others continue. Null when another worker holds the lease.
 */
export async function retentionPass(deps: RetentionDeps, stopping: AbortSignal): Promise<Pass | null> {
  const pass: Pass = { pruned: 0, blocked: 0 };
  const { defaultDays, chainsPerRead: count } = deps;
  let after: string | null = null;
  do {
    if (!(await deps.lease.hold())) return null;
    const page: Chains = await chainsFrom(deps.db, { after, count, defaultDays });
    const failed = new Set<string>();
    for (const chain of page.due) {
      if (stopping.aborted) return pass;
      const { pruned, isDone } = await pruneChain(deps, chain, stopping);
      pass.pruned += pruned;
      if (!isDone) failed.add(chain.chainId);
    }
    pass.blocked += failed.size;
    await noteCleanup(
      deps.db,
      page.ids.filter((id) => !failed.has(id)),
    );
    after = page.last;
  } while (after !== null && !stopping.aborted);
  blockedChains.set(pass.blocked);
  if (!stopping.aborted) lastPass.setToCurrentTime();
  return pass;
}

async function pruneChain(deps: RetentionDeps, chain: DueChain, stopping: AbortSignal) {
  let pruned = 0;
  let at = chain;
  let step = "read";
  try {
    for (;;) {
      if (stopping.aborted || !(await deps.lease.hold())) return { pruned, isDone: false };
      step = "read";
      const due = await duePiece(deps.db, at, deps.chunkRows);
      if (!due) return { pruned, isDone: true };
      step = "archive";
      const archived = at.archives ? await archiveFor(deps, at, due) : { piece: due, reference: null };
      step = "prune";
      const { piece, reference } = archived;
      if (!(await pruneChunk(deps, at, piece, reference))) {
        deps.log.info({ chainId: at.chainId }, "chain or policy changed meanwhile, checked again in the next pass");
        return { pruned, isDone: true };
      }
      const rows = piece.lastSeq - piece.firstSeq + 1;
      pruned += rows;
      prunedRows.inc(rows);
      if (reference) archivedBytes.inc(reference.bytes);
      deps.log.info({ chainId: at.chainId, firstSeq: piece.firstSeq, lastSeq: piece.lastSeq }, "audit rows pruned");
      at = { ...at, baseSeq: piece.lastSeq, baseChecksum: piece.lastChecksum };
    }
  } catch (err) {
    failures.inc({ step });
    deps.log.error({ err, chainId: chain.chainId, step }, "chain could not be pruned: its rows stay, tried again");
    return { pruned, isDone: false };
  }
}

function archiveFor({ archive, ...deps }: RetentionDeps, chain: DueChain, due: DuePiece) {
  if (!archive)
    throw new Error("the policy asks for an archive and none is configured (ARCHIVE_S3_BUCKET, ARCHIVE_DIRECTORY)");
  return archiveChunk({ ...deps, archive, pageRows: 500 }, chain, due);
}

async function pruneChunk(deps: RetentionDeps, chain: DueChain, piece: DuePiece, reference: ArchiveReference | null) {
  const { chainId, orgId, partnerId } = chain;
  const prunedAt = await databaseNow(deps.db);
  const { firstSeq, lastSeq, lastChecksum } = piece;
  const archiveDigest = reference?.manifestSha256 ?? null;
  const text = receiptText(deps.deployment, { chainId, firstSeq, lastSeq, lastChecksum, prunedAt, archiveDigest });
  const details = { firstSeq, lastSeq, rows: lastSeq - firstSeq + 1, lastChecksum, retentionDays: chain.retentionDays };
  const event = auditEvent(
    "audit",
    self,
    {
      action: "audit.retention.prune",
      resource: { type: "audit_chain", id: chainId, name: null },
      orgId,
      partnerId,
      details: { ...details, archive: reference && { key: reference.key, manifestSha256: reference.manifestSha256 } },
    },
    prunedAt,
  );
  return prune(deps.db, { chain, piece, prunedAt, note: signNote(text, deps.signer), archive: reference, event });
}

/**
 * Passes at `intervalMs`, sooner (`retryMs`) after one that left chains unpruned or while another worker holds the
 * lease.
 */
export function startRetention(
  deps: RetentionDeps,
  { intervalMs, retryMs }: { intervalMs: number; retryMs: number },
): { stop(): Promise<void>; state(): string } {
  const stopping = new AbortController();
  let state = "starting";
  const loop = async () => {
    while (!stopping.signal.aborted) {
      let waitMs = retryMs;
      try {
        const pass = await retentionPass(deps, stopping.signal);
        if (pass) state = pass.blocked > 0 ? `${pass.blocked} chains could not be pruned` : "ok";
        else state = "ok: another worker is active";
        if (pass && pass.blocked === 0) waitMs = intervalMs;
        if (pass && pass.pruned + pass.blocked > 0) deps.log.info(pass, "retention pass ended");
      } catch (err) {
        state = "the last pass failed";
        failures.inc({ step: "pass" });
        deps.log.error({ err }, "retention pass failed, tried again");
      }
      await sleep(waitMs, stopping.signal);
    }
  };
  const looping = loop();
  return {
    state: () => state,
    async stop() {
      stopping.abort();
      await looping;
      await deps.lease.release();
    },
  };
}
