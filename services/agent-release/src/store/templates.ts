import { type Database, isUniqueViolation, sql, type Tx } from "@muster/db";
import { AppError, type CallContext, isUuid, type Page } from "@muster/kit";
import { type ListPage, readNewestPage } from "@muster/service";
import type { Ring } from "../rules/ring.ts";
import type { NamedLimits } from "../rules/rollout-limits.ts";

export type TemplateRow = {
  id: string;
  name: string;
  rings: Ring[];
  limits: NamedLimits;
  created_by: string;
  created_at: Date;
  updated_at: Date;
};

const columns = sql`t.id, t.name, t.rings, t.limits, t.created_by, t.created_at, t.updated_at`;

/** Throws `name_taken`. */
export async function insertTemplate(tx: Tx, t: TemplateRow): Promise<void> {
  await named(() =>
    tx.execute(sql`
      INSERT INTO rollout_template (id, name, rings, limits, created_by, created_at, updated_at)
      VALUES (${t.id}::uuid, ${t.name}, ${JSON.stringify(t.rings)}::jsonb, ${JSON.stringify(t.limits)}::jsonb,
              ${t.created_by}, ${t.created_at}, ${t.updated_at})`),
  );
}

/** Throws `name_taken`. */
export async function replaceTemplate(tx: Tx, t: TemplateRow): Promise<void> {
  await named(() =>
    tx.execute(sql`
      UPDATE rollout_template SET name = ${t.name}, rings = ${JSON.stringify(t.rings)}::jsonb,
        limits = ${JSON.stringify(t.limits)}::jsonb, updated_at = ${t.updated_at}
      WHERE id = ${t.id}::uuid`),
  );
}

export async function deleteTemplate(tx: Tx, id: string): Promise<void> {
  await tx.execute(sql`DELETE FROM rollout_template WHERE id = ${id}::uuid`);
}

/** A template, locked until the end of the transaction; null for none. */
export async function lockTemplate(tx: Tx, id: string): Promise<TemplateRow | null> {
  if (!isUuid(id)) return null;
  const [row] = await tx.query<TemplateRow>(
    sql`SELECT ${columns} FROM rollout_template AS t WHERE t.id = ${id}::uuid FOR UPDATE`,
  );
  return row ?? null;
}

export async function findTemplate(db: Database, who: CallContext, id: string): Promise<TemplateRow | null> {
  if (!isUuid(id)) return null;
  const [row] = await db.read<TemplateRow>(
    who,
    sql`SELECT ${columns} FROM rollout_template AS t WHERE t.id = ${id}::uuid`,
  );
  return row ?? null;
}

export async function countTemplates(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ n: number }>(sql`SELECT count(*)::int AS n FROM rollout_template`);
  return row?.n ?? 0;
}

export function listTemplates(db: Database, who: CallContext, page: Page): Promise<ListPage<TemplateRow>> {
  return readNewestPage<TemplateRow>(db, who, { table: sql`rollout_template`, columns, where: sql`true` }, page);
}

async function named(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isUniqueViolation(error, "rollout_template_name")) throw error;
    throw new AppError("name_taken", "Another template has this name", { cause: error });
  }
}
