import { type MusterClient, MusterError } from "@muster/client";
import { done } from "../failure.ts";
import type { JsonObject } from "../fields.ts";
import { tableWriter } from "../table.ts";

/**
 * A table with the organization of each row by name, after what names the row and in the position of `orgId`; without
 * it for a caller who has one organization.
 */
export async function organizationTable(muster: MusterClient, columns: readonly string[]) {
  const { orgId } = await done(muster.GET("/api/v1/auth/me"));
  if (orgId !== null) return tableWriter(columns);
  const others = columns.filter((column) => column !== "orgId");
  const write = tableWriter([...others.slice(0, 2), "organization", ...others.slice(2)]);
  const names = new OrganizationNames(muster);
  return async (rows: readonly JsonObject[]): Promise<string> => {
    await names.load(rows.map((row) => row.orgId));
    return write(rows.map((row) => ({ ...row, organization: names.of(row.orgId) })));
  };
}

/** Names by id; an id stays where the caller may not read the name. */
class OrganizationNames {
  readonly #names = new Map<unknown, string>();
  readonly #unread: AsyncGenerator<{ id: string; name: string }>;

  constructor(muster: MusterClient) {
    this.#unread = muster.pages("/api/v1/orgs/organizations");
  }

  /** Reads on in the list of organizations until these are known, or it ends. */
  async load(ids: readonly unknown[]): Promise<void> {
    const missing = new Set(ids.filter((id) => typeof id === "string" && !this.#names.has(id)));
    while (missing.size > 0) {
      const next = await this.#unread.next().catch(whenForbidden);
      if (next.done) return;
      this.#names.set(next.value.id, next.value.name);
      missing.delete(next.value.id);
    }
  }

  of(id: unknown): unknown {
    return this.#names.get(id) ?? id;
  }
}

function whenForbidden(error: unknown): IteratorReturnResult<undefined> {
  if (error instanceof MusterError && error.status === 403) return { done: true, value: undefined };
  throw error;
}
