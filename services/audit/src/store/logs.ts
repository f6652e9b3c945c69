import { type Database, sql } from "@muster/db";
import { type CallContext, decodeCursor, encodeCursor, type Page } from "@muster/kit";

export type LogRow = {
  id: string;
  chain_id: string;
  org_id: string | null;
  seq: number;
  timestamp: Date;
  actor_type: string;
  actor_id: string;
  actor_email: string | null;
  actor_name: string | null;
  actor_role: string | null;
  actor_department: string | null;
  session_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string;
  resource_name: string | null;
  details: Record<string, unknown>;
  ip_address: string | null;
  user_agent: string | null;
  result: string;
  error_message: string | null;
  checksum: string;
  prev_checksum: string | null;
};

export type LogFilter = {
  orgId: string | null;
  user: string | null;
  action: string | null;
  resource: string | null;
  from: Date | null;
  to: Date | null;
  excludeActions: readonly string[];
};

const columns = `l.id, l.chain_id, l.org_id, l.seq, l.timestamp, l.actor_type, l.actor_id, l.actor_email, l.actor_name,
  l.actor_role, l.actor_department, l.session_id, l.action, l.resource_type, l.resource_id, l.resource_name, l.details,
  l.ip_address, l.user_agent, l.result, l.error_message, l.checksum,
  CASE WHEN l.seq = h.base_seq + 1 THEN NULL ELSE l.prev_checksum END AS prev_checksum`;

/** One visible row, or null. Index audit_log_by_id. */
export async function findLog(db: Database, who: CallContext, id: string): Promise<LogRow | null> {
  const conditions = new Conditions();
  scopeConditions(conditions, who);
  conditions.add((n) => `l.id = ${n}`, id);
  const [row] = await db.read<LogRow>(who, {
    text: `SELECT ${columns} FROM audit_log l JOIN chain_head h ON h.chain_id = l.chain_id WHERE ${conditions.text}`,
    values: conditions.values,
  });
  return row ?? null;
}

/** A page of visible rows, newest first, and their number unless the count is skipped. */
export async function listLogs(
  db: Database,
  who: CallContext,
  filter: LogFilter,
  page: Page,
): Promise<{ rows: LogRow[]; total: number | null; nextCursor: string }> {
  const conditions = new Conditions();
  scopeConditions(conditions, who);
  const filtered = filterConditions(conditions, filter);
  const total = page.skipCount ? null : await countLogs(db, who, filter.orgId, filtered ? conditions : null);
  const offset = page.cursor ? 0 : (page.page - 1) * page.limit;
  if (page.cursor) {
    const [time, id] = decodeCursor(page.cursor, 2) as [string, string];
    conditions.add((n) => `(l.timestamp, l.id) < (${n}::timestamptz, ${conditions.next(id)}::uuid)`, time);
  }
  const rows = await db.read<LogRow>(who, {
    text: `SELECT ${columns} FROM audit_log l JOIN chain_head h ON h.chain_id = l.chain_id WHERE ${conditions.text}
      ORDER BY l.timestamp DESC, l.id DESC LIMIT ${page.limit + 1} OFFSET ${offset}`,
    values: conditions.values,
  });
  const shown = rows.slice(0, page.limit);
  const last = shown.at(-1);
  return {
    rows: shown,
    total,
    nextCursor: rows.length > page.limit && last ? encodeCursor([last.timestamp.toISOString(), last.id]) : "",
  };
}

/** Unfiltered totals are head − base and free; filtered ones are counted. */
async function countLogs(
  db: Database,
  who: CallContext,
  orgId: string | null,
  filtered: Conditions | null,
): Promise<number> {
  const statement = filtered
    ? { text: `SELECT count(*) AS total FROM audit_log l WHERE ${filtered.text}`, values: [...filtered.values] }
    : sql`SELECT coalesce(sum(seq - base_seq), 0)::bigint AS total FROM chain_head
          WHERE ${orgId}::uuid IS NULL OR chain_id = ${orgId}::uuid`;
  const [row] = await db.read<{ total: number }>(who, statement);
  return row?.total ?? 0;
}

/** WHERE text under construction: each added value gets the next placeholder. */
class Conditions {
  #parts: string[] = [];
  readonly values: unknown[] = [];

  next(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  add(part: (placeholder: string) => string, value: unknown): void {
    this.#parts.push(part(this.next(value)));
  }

  get text(): string {
    return this.#parts.length > 0 ? this.#parts.join(" AND ") : "true";
  }
}

/** The query's own predicate beside row-level security; chooses the index too. */
function scopeConditions(where: Conditions, { caller }: CallContext): void {
  switch (caller.scope) {
    case "system":
      return;
    case "organization":
      where.add((n) => `l.chain_id = ${n}::uuid`, caller.orgId);
      return;
    case "partner":
      where.add((n) => `l.partner_id = ${n}::uuid`, caller.partnerId);
      if (caller.orgAccess.mode === "list") {
        where.add((n) => `(l.org_id IS NULL OR l.org_id = ANY (${n}::uuid[]))`, [...caller.orgAccess.orgIds]);
      }
      return;
    default:
      caller.scope satisfies never;
  }
}

function filterConditions(where: Conditions, f: LogFilter): boolean {
  if (f.orgId) where.add((n) => `l.chain_id = ${n}::uuid`, f.orgId);
  const before = where.values.length;
  const contains = (text: string) => `%${text.replace(/[\\%_]/g, "\\$&")}%`;
  if (f.user) where.add((n) => `(l.actor_email ILIKE ${n} OR l.actor_name ILIKE ${n})`, contains(f.user));
  if (f.action) where.add((n) => `l.action ILIKE ${n}`, contains(f.action));
  if (f.resource) where.add((n) => `(l.resource_type ILIKE ${n} OR l.resource_name ILIKE ${n})`, contains(f.resource));
  if (f.from) where.add((n) => `l.timestamp >= ${n}`, f.from);
  if (f.to) where.add((n) => `l.timestamp <= ${n}`, f.to);
  if (f.excludeActions.length > 0) where.add((n) => `l.action <> ALL (${n}::text[])`, [...f.excludeActions]);
  return where.values.length > before;
}
