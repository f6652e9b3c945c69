import { AppError, type CallContext } from "@muster/kit";

/** The caller is not limited to single sites: what follows concerns a whole organization. Throws `site_restricted`. */
export function requireAllSites({ caller }: CallContext): void {
  if (caller.siteIds !== null) {
    throw new AppError("site_restricted", "Your account is restricted to single sites");
  }
}

/** An organization's people have an organization. Throws `misconfigured_account`. */
export function requireOrganization({ caller }: CallContext): void {
  if (caller.scope === "organization" && caller.orgId === null) {
    throw new AppError("misconfigured_account", "Misconfigured account");
  }
}
