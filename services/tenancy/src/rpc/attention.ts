import type { Database } from "@muster/db";
import { type AttentionSource, requirePermission } from "@muster/service";
import { organizationNotFound } from "../rules/refusals.ts";
import { findOwner } from "../store/device-scope.ts";
import { quarantinedDevices } from "../store/quarantined-devices.ts";

/**
 * Devices that wait for a decision, as one row. Throws `organization_not_found` for one out of the caller's scope, as
 * the list of devices does.
 */
export function quarantinedDeviceSource({ db }: { db: Database }): AttentionSource {
  return {
    kind: "device",
    guard: (context) => requirePermission(context, "devices:read"),
    async find(context, orgId) {
      const { caller } = context;
      const found = await db.tx(
        context,
        async (tx) => {
          if (orgId !== null && (await findOwner(tx, caller, orgId, true)) === null) throw organizationNotFound();
          return quarantinedDevices(tx, caller, orgId);
        },
        { readOnly: true },
      );
      if (found === null) return [];
      const { count, since } = found;
      const isOne = count === 1;
      return [
        {
          record: isOne ? { type: "device", id: found.id, name: found.hostname } : null,
          orgId: isOne ? found.org_id : orgId,
          partnerId: isOne ? found.partner_id : null,
          ...{ since, count },
          sentence: `${isOne ? "It has" : `${count} devices have`} the hardware id of another active device: approve, merge or reject.`,
        },
      ];
    },
  };
}
