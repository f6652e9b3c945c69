import type { Database } from "@muster/db";
import { AppError, type CallContext, isUuid } from "@muster/kit";
import { deviceGroupNotFound, siteNotFound } from "../rules/refusals.ts";
import { findDeviceGroup } from "../store/device-groups.ts";
import { findSite, siteExists } from "../store/sites.ts";

/**
 * Why a site is not accessible to a caller: a missing site differs from one out of reach (docs/behaviour.md#errors).
 */
export async function siteRefusal(db: Database, context: CallContext, id: string): Promise<AppError> {
  const isThere = isUuid(id) && (await siteExists(db, context, id));
  return isThere ? new AppError("site_access_denied", "Access to this site denied") : siteNotFound();
}

/**
 * A list that is narrowed to a site or a group answers as that place does, never with nothing. Empty ids do not narrow.
 * Throws
 * `site_not_found`, `site_access_denied`, `device_group_not_found`.
 */
export async function requirePlaces(
  db: Database,
  context: CallContext,
  { siteId, groupId }: { siteId: string; groupId: string },
): Promise<void> {
  if (siteId !== "" && !(await findSite(db, context, siteId))) throw await siteRefusal(db, context, siteId);
  if (groupId !== "" && !(await findDeviceGroup(db, context, groupId))) throw deviceGroupNotFound();
}
