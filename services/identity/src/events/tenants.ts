import type { OnTenantChange } from "@muster/service";
import { revokeTenant } from "../commands/revoke-tenant.ts";
import { tenantStatusChanged } from "../emits/auth.ts";
import { asService } from "../rules/as-service.ts";
import { forgetSite } from "../store/enrollment-keys.ts";

/**
 * Forwards each change of a partner's or organization's status to the gateways (a new one has no sessions yet), and
 * revokes the credentials of a deleted one.
 */
export const announceTenant: OnTenantChange = async (tx, change) => {
  const { kind, id, deleted } = change;
  if (change.before !== null) {
    const message = tenantStatusChanged(change);
    if (message) tx.emit(message);
  }
  if (!deleted) return;
  const now = new Date();
  if (kind === "site") return forgetSite(tx, id, now);
  await revokeTenant(tx, asService(), { kind, id }, "tenant_deleted", now);
};
