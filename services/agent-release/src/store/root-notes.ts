import { sql, type Tx } from "@muster/db";

/** All root notes, oldest first. */
export async function rootNotes(tx: Tx): Promise<string[]> {
  return (await tx.query<{ note: string }>(sql`SELECT note FROM root_note ORDER BY number`)).map(({ note }) => note);
}

/** Keeps a root note; false when there is one of that number. */
export async function insertRootNote(
  tx: Tx,
  { number, note, by, at }: { number: number; note: string; by: string; at: Date },
): Promise<boolean> {
  const inserted = await tx.execute(sql`
    INSERT INTO root_note (number, note, created_by, created_at) VALUES (${number}, ${note}, ${by}, ${at})
    ON CONFLICT (number) DO NOTHING`);
  return inserted > 0;
}
