import type { OnTenantChange } from "@muster/service";
import { tenantStatusChanged } from "./auth.ts";

/** Passes each change of a partner's or organization's status on to the gateways; a new one has nobody signed in yet. */
export const announceTenant: OnTenantChange = (tx, change) => {
  if (change.before === null) return;
  const message = tenantStatusChanged(change);
  if (message) tx.emit(message);
};
