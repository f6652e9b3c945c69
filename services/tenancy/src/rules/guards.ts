import { AppError, type CallContext } from "@muster/kit";

/** The caller is not limited to single sites: what follows concerns a whole organization. Throws `site_restricted`. */
export function requireAllSites({ caller }: CallContext): void {
  if (caller.siteIds !== null) {
    throw new AppError("site_restricted", "Your account is restricted to single sites");
  }
}
