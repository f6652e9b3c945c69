import { type Database, sql } from "@muster/db";
import { type CallContext, type Page, systemCaller } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";

const system = { caller: systemCaller("identity") };

/** A request as it is logged; `digest` of the token finds its directory. */
export type LoggedRequest = {
  id: string;
  digest: Uint8Array;
  at: Date;
  operation: string;
  resourceId: string | null;
  filter: string | null;
  outcome: string;
  scimType: string | null;
  detail: string | null;
  requestId: string | null;
  effect: "created" | "changed" | "deleted" | null;
};

export type RequestRow = {
  id: string;
  created_at: Date;
  operation: string;
  resource_id: string | null;
  filter: string | null;
  outcome: string;
  scim_type: string | null;
  detail: string | null;
  request_id: string | null;
};

/** Minutes without a request after which the next one begins another cycle. */
const pauseMinutes = 10;
const keptDays = 30;
const keptRows = 10_000;

/** Stores requests and adds them to the cycles of their directories; those of tokens that are gone are left out. */
export async function storeRequests(db: Database, requests: readonly LoggedRequest[]): Promise<void> {
  const column = <K extends keyof LoggedRequest>(name: K) => requests.map((request) => request[name]);
  await db.tx(system, async (tx) => {
    await tx.execute(sql`
      WITH given AS (
        SELECT g.*, k.directory_id, k.partner_id, k.org_id FROM unnest(
          ${column("id")}::uuid[], ${column("digest").map((digest) => Buffer.from(digest))}::bytea[],
          ${column("at")}::timestamptz[], ${column("operation")}::text[], ${column("resourceId")}::text[],
          ${column("filter")}::text[], ${column("outcome")}::text[], ${column("scimType")}::text[],
          ${column("detail")}::text[], ${column("requestId")}::text[], ${column("effect")}::text[]
        ) AS g (id, digest, at, operation, resource_id, filter, outcome, scim_type, detail, request_id, effect)
        JOIN directory_tokens k ON k.digest = g.digest
      ), stored AS (
        INSERT INTO directory_requests (id, directory_id, partner_id, org_id, created_at, operation, resource_id, filter,
                                        outcome, scim_type, detail, request_id)
        SELECT id, directory_id, partner_id, org_id, at, operation, resource_id, filter, outcome, scim_type, detail,
               request_id FROM given ON CONFLICT DO NOTHING
      )
      INSERT INTO directory_cycles AS c (directory_id, partner_id, org_id, started_at, last_at, requests, refused, created,
                                         changed, deleted)
      SELECT directory_id, partner_id, org_id, min(at), max(at), count(*), count(*) FILTER (WHERE outcome <> 'ok'),
             count(*) FILTER (WHERE effect = 'created'), count(*) FILTER (WHERE effect = 'changed'),
             count(*) FILTER (WHERE effect = 'deleted')
      FROM given GROUP BY directory_id, partner_id, org_id ORDER BY directory_id
      ON CONFLICT (directory_id) DO UPDATE SET
        started_at = CASE WHEN ${isNew} THEN excluded.started_at ELSE c.started_at END,
        last_at = greatest(c.last_at, excluded.last_at),
        requests = excluded.requests + CASE WHEN ${isNew} THEN 0 ELSE c.requests END,
        refused = excluded.refused + CASE WHEN ${isNew} THEN 0 ELSE c.refused END,
        created = excluded.created + CASE WHEN ${isNew} THEN 0 ELSE c.created END,
        changed = excluded.changed + CASE WHEN ${isNew} THEN 0 ELSE c.changed END,
        deleted = excluded.deleted + CASE WHEN ${isNew} THEN 0 ELSE c.deleted END`);
  });
}

const isNew = sql`c.last_at < excluded.started_at - make_interval(mins => ${pauseMinutes})`;

/** A page of a directory's requests, newest first. */
export function listRequests(
  db: Database,
  who: CallContext,
  { directoryId, refused }: { directoryId: string; refused: boolean },
  page: Page,
): Promise<ListPage<RequestRow>> {
  const list = {
    table: sql`directory_requests`,
    columns: sql`t.id, t.created_at, t.operation, t.resource_id, t.filter, t.outcome, t.scim_type, t.detail, t.request_id`,
    where: sql`t.directory_id = ${directoryId} AND ${refused ? sql`t.outcome <> 'ok'` : sql`true`}`,
    visible: sql`true`,
  };
  return readNewestPage<RequestRow>(db, who, list, page);
}

/** Removes requests beyond their age or number, up to `limit`; returns how many. */
export const removeOldRequests = (db: Database, limit: number): Promise<number> =>
  db.inOneBatch(system, (tx) =>
    tx.execute(sql`
      DELETE FROM directory_requests r USING (
        SELECT id FROM directory_requests WHERE created_at < now() - make_interval(days => ${keptDays})
        UNION ALL
        SELECT o.id FROM directory_cycles c, LATERAL (
          SELECT id FROM directory_requests d WHERE d.directory_id = c.directory_id
          ORDER BY d.created_at DESC, d.id DESC OFFSET ${keptRows} LIMIT ${limit}) o
        LIMIT ${limit}) old
      WHERE r.id = old.id`),
  );
