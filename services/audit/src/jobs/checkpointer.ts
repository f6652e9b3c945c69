import { randomUUID } from "node:crypto";
import type { Database } from "@muster/db";
import { counter, gauge, type Logger, type NoteSigner, type NoteVerifier, openNote, signNote } from "@muster/kit";
import type { Outside } from "../clients/checkpoint-copies.ts";
import { checkpointText, parseCheckpoint } from "../rules/checkpoint.ts";
import { anchorText, merkleRoot } from "../rules/merkle.ts";
import { parseRestore, wasUndone } from "../rules/restore.ts";
import {
  anchorDue,
  anchorLeaves,
  contradictedPositions,
  giveLease,
  isAnyDue,
  leaseSeconds,
  type MovedHead,
  markCopied,
  movedHeads,
  type SignedPosition,
  storeAnchor,
  storeCheckpoints,
  takeLease,
  thinCheckpoints,
  uncopied,
} from "../store/checkpoints.ts";

/** Where copies go, outside of the database. */
export type CopyStore = {
  readonly name: string;
  put(key: string, body: Uint8Array, options?: { lockUntil?: Date; contentType?: string }): Promise<void>;
};

export type CheckpointerDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  signer: NoteSigner;
  verifiers: readonly NoteVerifier[];
  deployment: string;
  /** What was signed before, where the database's owner cannot change it. */
  outside: Pick<Outside, "isReady" | "newest" | "keep" | "restores">;
  /** A chain that moved gets a checkpoint after this time, or after `rows` rows. */
  intervalSeconds: number;
  rows: number;
  anchorSeconds: number;
  /** Null: no copies. */
  copies: CopyStore | null;
  lockDays: number;
};

const pageChains = 1_000;
const copyPage = 200;
const fullScanMs = 10 * 60_000;
const dayMs = 86_400_000;
const thinMs = dayMs / 24;

const made = counter("muster_audit_checkpoints_signed_total", "Checkpoints signed");
const anchors = counter("muster_audit_anchors_signed_total", "Deployment anchors signed");
const failures = counter("muster_audit_checkpointer_failures_total", "Rounds of the checkpointer that failed", [
  "step",
]);
const contradictions = counter(
  "muster_audit_chain_contradictions_total",
  "Chains whose rows contradicted their newest external checkpoint: cut, restored or rebuilt",
);
const lastRound = gauge(
  "muster_audit_checkpointer_last_success_timestamp_seconds",
  "Unix time of the last round without a failure",
);

/**
 * Signs checkpoints of chains that moved, hourly anchors, and copies both: one active over all replicas, by a lease.
 */
export function startCheckpointer(deps: CheckpointerDeps): { stop(): Promise<void> } {
  return new Signing(deps);
}

class Signing {
  readonly #deps: CheckpointerDeps;
  readonly #holder = randomUUID();
  readonly #signedCache: SignedCache = new Map();
  #stopped = false;
  #wake: () => void = () => undefined;
  #scannedMs = 0;
  #thinnedMs = 0;
  #leasedMs = 0;
  readonly #steps: [string, () => Promise<void>][];
  readonly #lately;
  readonly #running;

  constructor(deps: CheckpointerDeps) {
    this.#deps = deps;
    const tickMs = Math.min(5_000, deps.intervalSeconds * 1_000);
    this.#steps = [
      ["checkpoints", () => checkpointRound(deps, this.#holder, this.#scope(), this.#signedCache)],
      ["anchor", () => anchorRound(deps, this.#holder)],
      ["copies", () => copyRound(deps)],
      ["thinning", this.#thin],
    ];
    this.#lately = deps.intervalSeconds + 120;
    this.#running = (async () => {
      while (!this.#stopped) {
        await this.#round().catch((err: unknown) => {
          failures.inc({ step: "lease" });
          deps.log.error({ err }, "checkpointer round failed");
        });
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, this.#stopped ? 0 : tickMs);
          this.#wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    })();
  }

  #isScanDue() {
    return Date.now() - this.#scannedMs >= fullScanMs;
  }

  #isThinningDue() {
    return Date.now() - this.#thinnedMs >= thinMs;
  }

  /** Usually the heads that moved lately; periodically all, in case a commit was late. */
  #scope(): number | null {
    if (!this.#isScanDue()) return this.#lately;
    this.#scannedMs = Date.now();
    return null;
  }

  readonly #thin = async (): Promise<void> => {
    if (!this.#isThinningDue()) return;
    this.#thinnedMs = Date.now();
    while (!this.#stopped && (await thinCheckpoints(this.#deps.db, 5_000)) === 5_000);
  };

  /** Only reads: an idle cluster writes no lease. */
  async #isNeeded(): Promise<boolean> {
    const { intervalSeconds, rows, anchorSeconds, copies } = this.#deps;
    const due = { intervalSeconds, rows, anchorSeconds, copies: copies !== null };
    return this.#isScanDue() || this.#isThinningDue() || (await isAnyDue(this.#deps.db, this.#lately, due));
  }

  async #round(): Promise<void> {
    if (!(await this.#isNeeded())) return void lastRound.set(Date.now() / 1000);
    if (!(await takeLease(this.#deps.db, this.#holder))) {
      this.#scannedMs = 0;
      // Another signs now: what was newest here is not for long.
      this.#signedCache.clear();
      return;
    }
    // Or signed by another process meanwhile: this process was suspended for longer than its lease.
    if (Date.now() - this.#leasedMs > leaseSeconds * 1_000) this.#signedCache.clear();
    this.#leasedMs = Date.now();
    let failed = false;
    for (const [name, step] of this.#steps) {
      if (this.#stopped) return;
      try {
        await step();
      } catch (err) {
        failed = true;
        // Not awaited by the others: an unavailable storage blocks no checkpoint.
        failures.inc({ step: name });
        this.#deps.log.error({ err, step: name }, "checkpointer step failed");
        if (name === "checkpoints") this.#scannedMs = 0;
      }
    }
    if (!failed) lastRound.set(Date.now() / 1000);
  }

  readonly stop = async () => {
    this.#stopped = true;
    this.#wake();
    await this.#running;
    await giveLease(this.#deps.db, this.#holder).catch((err: unknown) =>
      this.#deps.log.warn({ err }, "checkpointer lease not returned"),
    );
  };
}

/** What this process signed last of each chain: the newest that there is as long as it holds the lease. */
type SignedCache = Map<string, Signed>;
type Signed = SignedPosition & { at: Date };

const mostCached = 100_000;
const concurrentReads = 50;

/**
 * Signs every chain that is due; `withinSeconds` null checks all chains. Each is compared with its newest external
 * checkpoint first: a contradicted one is stored where newer ones do not replace it, and reported. Nothing is signed
 * without an answer from the external store.
 */
export async function checkpointRound(
  deps: CheckpointerDeps,
  holder: string,
  withinSeconds: number | null,
  signedCache: SignedCache = new Map(),
): Promise<void> {
  // No connection to NATS yet: nothing is sealed either.
  if (!deps.outside.isReady()) return;
  for (let after: string | null = null; ; ) {
    const heads = await movedHeads(deps.db, withinSeconds, after, pageChains);
    const due = heads.filter(
      ({ seq, last_seq, age }) =>
        last_seq === null || seq - last_seq >= deps.rows || (age ?? 0) >= deps.intervalSeconds,
    );
    if (due.length > 0) {
      const contradicted = await contradictedOf(deps, due, signedCache);
      const at = deps.now();
      const signed = due.map((head) => {
        const facts = { chainId: head.chain_id, seq: head.seq, head: head.checksum, at };
        const note = signNote(checkpointText(deps.deployment, facts), deps.signer);
        return { ...head, note, contradicts: contradicted.get(head.chain_id) ?? null };
      });
      const stored = await storeCheckpoints(deps.db, holder, signed, at);
      made.inc(stored);
      contradictions.inc(contradicted.size);
      if (signedCache.size > mostCached) signedCache.clear();
      if (stored > 0)
        for (const { chain_id, seq, checksum } of due) signedCache.set(chain_id, { seq, head: checksum, at });
    }
    if (heads.length < pageChains) return;
    after = heads.at(-1)?.chain_id ?? after;
  }
}

/** Of the due chains, the positions that were signed before and no longer match; their checkpoints are preserved. */
async function contradictedOf(
  deps: CheckpointerDeps,
  due: readonly MovedHead[],
  signedCache: SignedCache,
): Promise<Map<string, SignedPosition>> {
  const { outside, log } = deps;
  const positions: (Signed & { chainId: string; note: string | null })[] = [];
  const read = async ({ chain_id: chainId }: MovedHead) => {
    const own = signedCache.get(chainId);
    const note = own ? null : await outside.newest(chainId);
    const signed = own ?? (note === null ? null : readNote(deps, chainId, note));
    if (signed) positions.push({ ...signed, chainId, note });
  };
  for (let n = 0; n < due.length; n += concurrentReads) await Promise.all(due.slice(n, n + concurrentReads).map(read));
  const chains = positions.length === 0 ? new Set<string>() : await contradictedPositions(deps.db, positions);
  const restores = chains.size === 0 ? [] : await declaredRestores(deps);
  const contradicted = new Map<string, SignedPosition>();
  for (const { note, at, ...position } of positions) {
    const { chainId, seq, head } = position;
    // Rows removed by a declared restore are no contradiction; verification reports the restore.
    if (!chains.has(chainId) || wasUndone(restores, at.getTime())) continue;
    await outside.keep({
      ...position,
      note: note ?? signNote(checkpointText(deps.deployment, { ...position, at }), deps.signer),
    });
    contradicted.set(chainId, { seq, head });
    log.error({ chainId, seq }, "audit chain contradicts its newest checkpoint");
  }
  return contradicted;
}

/** Times that declared restores undid; a note that does not verify declares nothing. */
async function declaredRestores({ outside, verifiers, deployment, log }: CheckpointerDeps) {
  return (await outside.restores()).flatMap((note) => {
    try {
      const said = parseRestore(openNote(note, verifiers).text, deployment);
      return said ? [{ fromMs: said.restoredTo.getTime(), toMs: said.declaredAt.getTime() }] : [];
    } catch (err) {
      log.warn({ err }, "a declared restore does not verify");
      return [];
    }
  });
}

/** A note's statement about the chain; null, and logged, when it has no signature of our keys. */
function readNote({ verifiers, deployment, log }: CheckpointerDeps, chainId: string, note: string): Signed | null {
  try {
    const read = parseCheckpoint(openNote(note, verifiers).text, deployment);
    if (read?.chainId === chainId) return read;
    log.warn({ chainId }, "the newest external checkpoint is not one of this chain");
  } catch (err) {
    log.warn({ err, chainId }, "the newest external checkpoint does not verify");
  }
  return null;
}

/** Signs an anchor over all checkpoints when one is due. */
export async function anchorRound(deps: CheckpointerDeps, holder: string): Promise<void> {
  const due = await anchorDue(deps.db, deps.anchorSeconds);
  if (!due) return;
  const leaves = await anchorLeaves(deps.db, due.upTo);
  const facts = {
    upTo: due.upTo,
    chains: leaves.length,
    root: merkleRoot(leaves).toString("hex"),
    at: deps.now(),
  };
  const note = signNote(anchorText(deps.deployment, facts), deps.signer);
  if (await storeAnchor(deps.db, holder, { ...facts, note })) anchors.inc();
}

/** Copies checkpoints that have no copy yet; stops at the first that the store refuses. */
export async function copyRound({ db, copies, now, lockDays }: CheckpointerDeps): Promise<void> {
  if (!copies) return;
  for (const table of ["checkpoint", "anchor"] as const) {
    for (;;) {
      const notes = await uncopied(db, table, copyPage);
      const done: number[] = [];
      try {
        for (const { id, key, note } of notes) {
          const lockUntil = lockDays > 0 ? new Date(now().getTime() + lockDays * dayMs) : null;
          await copies.put(key, Buffer.from(note), { contentType: "text/plain", ...(lockUntil ? { lockUntil } : {}) });
          done.push(id);
        }
      } finally {
        if (done.length > 0) await markCopied(db, table, done);
      }
      if (notes.length < copyPage) break;
    }
  }
}
