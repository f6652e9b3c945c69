import { sql, type Tx } from "@muster/db";
import type { DirectoryRow } from "../../rules/directory/directory.ts";
import { ofTenant, type Tenant } from "../api-keys.ts";

/** Stores a new token of a directory by its digest. */
export async function insertDirectoryToken(
  tx: Tx,
  directory: Pick<DirectoryRow, "id" | "partner_id" | "org_id">,
  token: { id: string; digest: Buffer; prefix: string },
  now: Date,
): Promise<void> {
  await tx.execute(sql`
    INSERT INTO directory_tokens (id, directory_id, partner_id, org_id, digest, prefix, created_at)
    VALUES (${token.id}, ${directory.id}, ${directory.partner_id}, ${directory.org_id}, ${token.digest}, ${token.prefix},
            ${now})`);
}

/** Tokens of a directory end at this time, unless they end before; those that have ended are removed. */
export async function endDirectoryTokens(tx: Tx, directoryId: string, expiresAt: Date, now: Date): Promise<void> {
  await tx.execute(sql`DELETE FROM directory_tokens WHERE directory_id = ${directoryId} AND expires_at <= ${now}`);
  await tx.execute(sql`
    UPDATE directory_tokens SET expires_at = least(expires_at, ${expiresAt}) WHERE directory_id = ${directoryId}`);
}

/** Ends the tokens of all directories of a tenant; returns their number. */
export const deleteTenantDirectoryTokens = (tx: Tx, tenant: Tenant): Promise<number> =>
  tx.execute(sql`DELETE FROM directory_tokens WHERE ${ofTenant(tenant)}`);

/** Ends all tokens of a directory at once; returns their number. */
export const deleteDirectoryTokens = (tx: Tx, directoryId: string): Promise<number> =>
  tx.execute(sql`DELETE FROM directory_tokens WHERE directory_id = ${directoryId}`);
