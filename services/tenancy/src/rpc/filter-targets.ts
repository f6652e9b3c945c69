import type { Database } from "@muster/db";
import type { CallContext } from "@muster/kit";
import { deviceGroupNotFound, siteNotFound } from "../rules/refusals.ts";
import { findDeviceGroup } from "../store/device-groups.ts";
import { findSite } from "../store/sites.ts";

/**
 * A list that is narrowed to a site or a group is refused when that is missing or out of scope, never answered with
 * nothing. Empty ids do not narrow. Throws `site_not_found`, `device_group_not_found`: as a filter, a site out of scope
 * looks like a missing one; only `/orgs/sites` tells them apart (docs/behaviour.md#errors).
 */
export async function requireFilterTargets(
  db: Database,
  context: CallContext,
  { siteId, groupId }: { siteId: string; groupId: string },
): Promise<void> {
  if (siteId !== "" && !(await findSite(db, context, siteId))) throw siteNotFound();
  if (groupId !== "" && !(await findDeviceGroup(db, context, groupId))) throw deviceGroupNotFound();
}
