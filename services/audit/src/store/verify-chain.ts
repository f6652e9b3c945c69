import type { Database } from "@muster/db";
import { systemCaller } from "@muster/kit";
import {
  endVerification,
  type Finding,
  newVerification,
  type Trust,
  takeCheckpoints,
  takeReceipts,
  takeRow,
  type Verification,
} from "../rules/verify.ts";
import { type ChainHead, readBase, readChain, readCheckpoints } from "./chain-rows.ts";

export const verifyPageRows = 2_000;
const checkpointPage = 5_000;

export type VerifyDeps = {
  db: Database;
  trust: Trust;
  /** Newest checkpoints of a chain kept outside of the database, as signed notes. */
  copies(chainId: string): Promise<string[]>;
};

/** Position of a verification: plain JSON, stored in its job. */
export type VerifyCursor = {
  v: Verification;
  /** Last row read; null before the first. */
  afterSeq: number | null;
  /** Checkpoints up to this one were read. */
  checkpointsTo: number;
};

const who = { caller: systemCaller("audit"), deadlineMs: null };

/** A verification of a chain from `from` (null: its beginning) that has read its receipts, and no row yet. */
export async function startVerifying(deps: VerifyDeps, chainId: string, from: number | null): Promise<VerifyCursor> {
  const v = newVerification({ chainId, from });
  const { receipts, base } = await readBase(deps.db, who, chainId);
  takeReceipts(v, deps.trust, receipts, base);
  const notes = await deps.copies(chainId);
  takeCheckpoints(
    v,
    deps.trust,
    notes.map((note) => ({ seq: null, note })),
  );
  const afterSeq = v.from === null ? null : v.from - 1;
  return { v, afterSeq, checkpointsTo: afterSeq ?? 0 };
}

/**
 * Verifies one more page; returns the findings when the chain is at its end. Rows sealed meanwhile are verified, too.
 */
export async function verifyPage(deps: VerifyDeps, cursor: VerifyCursor): Promise<Finding[] | null> {
  const { db, trust } = deps;
  const { v } = cursor;
  await moreCheckpoints(deps, cursor);
  const read = () => readChain(db, who, v.chainId, cursor.afterSeq, verifyPageRows);
  const taken = await takeAhead(cursor);
  // The end of the chain has to be younger than the checkpoints just read.
  const isFresh = taken === null || taken.rows.length < verifyPageRows;
  const { rows, head } = isFresh ? await read() : taken;
  if (head && head.baseSeq !== v.base.seq) {
    // Pruned meanwhile: the page may begin behind rows that were legitimately removed. Receipts first, then the page
    // again.
    const { receipts, base } = await readBase(db, who, v.chainId);
    takeReceipts(v, trust, receipts, base);
    if (base.seq !== head.baseSeq) return null;
    if (cursor.afterSeq !== null && cursor.afterSeq < v.prunedTo) {
      cursor.afterSeq = v.prunedTo;
      return null;
    }
  }
  const isLast = rows.length < verifyPageRows;
  // Two rows of one number belong together.
  const lastSeq = rows.at(-1)?.seq;
  const page = isLast || rows[0]?.seq === lastSeq ? rows : rows.filter(({ seq }) => seq !== lastSeq);
  cursor.afterSeq = page.at(-1)?.seq ?? cursor.afterSeq;
  // PostgreSQL reads the next page while this one is verified.
  if (!isLast) readAhead(cursor, read());
  for (const row of page) takeRow(v, row, headSeq(head));
  if (!isLast) return null;
  return endVerification(v, head);
}

type Page = Awaited<ReturnType<typeof readChain>>;

/** Pages in flight, by the cursors that they follow: a process that continues with a stored cursor reads again. */
const ahead = new WeakMap<VerifyCursor, { afterSeq: number | null; page: Promise<Page> }>();

function readAhead(cursor: VerifyCursor, page: Promise<Page>): void {
  // Its failure is reported to the consumer of the page.
  page.catch(() => undefined);
  ahead.set(cursor, { afterSeq: cursor.afterSeq, page });
}

async function takeAhead(cursor: VerifyCursor): Promise<Page | null> {
  const found = ahead.get(cursor);
  ahead.delete(cursor);
  return found && found.afterSeq === cursor.afterSeq ? await found.page : null;
}

const headSeq = (head: ChainHead | null) => head?.seq ?? null;

/** Checkpoints for at least the next page of rows. Read before the rows, so that none is newer than its row. */
async function moreCheckpoints(deps: VerifyDeps, cursor: VerifyCursor): Promise<void> {
  const { v } = cursor;
  for (;;) {
    const isAhead = (v.checkpoints.at(-1)?.seq ?? 0) > (cursor.afterSeq ?? 0) + verifyPageRows;
    if (isAhead && v.checkpoints.length > checkpointPage / 2) return;
    const notes = await readCheckpoints(deps.db, who, v.chainId, cursor.checkpointsTo, checkpointPage);
    takeCheckpoints(v, deps.trust, notes);
    cursor.checkpointsTo = notes.at(-1)?.seq ?? cursor.checkpointsTo;
    if (notes.length < checkpointPage) return;
  }
}
