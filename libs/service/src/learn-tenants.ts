import type { Database } from "@muster/db";
import { toAppError } from "@muster/rpc";
import type { TenancySnapshot } from "./tenancy-snapshot.ts";
import { type TenantCopyDeps, takeTenants } from "./tenant-copy.ts";

/**
 * Copies what tenancy has under these ids and returns whether there was any. For ids that the copy lacks: a tenant that
 * was just created is known at once, and an unknown id costs one call and no wait. Throws `unavailable` when tenancy
 * does not answer.
 */
export type LearnTenants = (ids: readonly string[]) => Promise<boolean>;

/** What a look-up of a partner, organization or site takes. */
export type TenantReader = { db: Database; learnTenants: LearnTenants };

export function learningFrom(snapshot: Pick<TenancySnapshot, "tenants">, deps: TenantCopyDeps): LearnTenants {
  return async (ids) => {
    const tenantsOf = (wanted: readonly string[]) =>
      snapshot.tenants(wanted).catch((thrown: unknown) => {
        throw toAppError(thrown);
      });
    const tenants = await tenantsOf(ids);
    if (tenants.length === 0) return false;
    // Partner and organization decide over their users, keys and devices, and may be as new.
    const above = new Set(tenants.flatMap(({ partnerId, orgId }) => [partnerId, orgId]));
    const lacking = [...above].filter((id) => id !== "" && !ids.includes(id));
    await takeTenants(deps, [...(lacking.length > 0 ? await tenantsOf(lacking) : []), ...tenants]);
    return true;
  };
}
