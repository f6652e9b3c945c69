import { connectionOwner, type Database, type Job, type JobState, type Who } from "@muster/db";
import { decodeCursor, encodeCursor, type Page, systemCaller } from "@muster/kit";
import type { Range } from "../rules/range.ts";
import { rangeText, Values } from "./conditions.ts";

/** Kinds of jobs about one chain, which their input names. */
type Kind = "audit.verify" | "audit.export";
type Wanted = { kind: Kind; range: Range; state: JobState | null; isSystem: boolean };

/** A page of jobs, newest first (indexes job_verifications, job_exports; a partner's by job_turns). */
export async function listJobs(
  db: Database,
  asker: Who,
  { kind, range, state, isSystem }: Wanted,
  page: Page,
): Promise<{ rows: Job[]; total: number | null; nextCursor: string }> {
  // Jobs are the system's own rows: the range of the caller is in each statement.
  const { deadlineMs = null } = asker;
  const who = { caller: systemCaller("audit"), actsFor: connectionOwner(asker), deadlineMs };
  const values = new Values();
  const parts = [`j.kind = '${kind}'`, rangeText(values, range, "v")];
  // Otherwise the jobs of all tenants would be read.
  if (range.kind === "partner") parts.push(`j.lane = ${values.add(range.partnerId)}`);
  if (state) parts.push(`j.state = ${values.add(state)}`);
  // A deleted organization is inaccessible to its users.
  if (!isSystem) {
    parts.push("NOT EXISTS (SELECT FROM tenant t WHERE t.kind = 'organization' AND t.id = v.chain_id AND t.deleted)");
  }
  const from = `FROM job j CROSS JOIN LATERAL (SELECT (j.input->>'chainId')::uuid AS chain_id,
                  (j.input->>'partnerId')::uuid AS partner_id) v WHERE ${parts.join(" AND ")}`;
  const total = page.skipCount ? null : await countOf(db, who, from, [...values.list]);
  // Their ids rise with time.
  const [before] = page.cursor ? decodeCursor(page.cursor, ["uuid"]) : [];
  const after = before ? ` AND j.id < ${values.add(before)}::uuid` : "";
  const offset = after ? 0 : (page.page - 1) * page.limit;
  const found = await db.read<Job>(who, {
    text: `SELECT j.id, j.kind, j.state, j.input, j.cursor, j.result, j.error, j.attempts,
             j.created_at AS "createdAt", j.finished_at AS "finishedAt"
           ${from}${after} ORDER BY j.id DESC
           OFFSET ${values.add(offset)} LIMIT ${values.add(page.limit + 1)}`,
    values: values.list,
  });
  const rows = found.slice(0, page.limit);
  const last = rows.at(-1);
  const nextCursor = found.length > page.limit && last ? encodeCursor([last.id]) : "";
  return { rows, total, nextCursor };
}

async function countOf(db: Database, who: Who, from: string, values: unknown[]): Promise<number> {
  const [row] = await db.read<{ total: number }>(who, { text: `SELECT count(*) AS total ${from}`, values });
  return Number(row?.total ?? 0);
}
