import { type AttentionSource, requirePermission } from "@muster/service";
import { organizationNotFound } from "../rules/refusals.ts";
import { findOwner } from "../store/device-scope.ts";
import { quarantinedDevices } from "../store/quarantined-devices.ts";

/**
 * Devices that wait for a decision, as one row. Throws `organization_not_found` for one out of the caller's scope, as
 * the list of devices does.
 */
export const quarantinedDeviceSource: AttentionSource = {
  guard: (context) => requirePermission(context, "devices:read"),
  async find(tx, { caller }, orgId) {
    const [owner, found] = await Promise.all([
      orgId === null ? null : findOwner(tx, caller, orgId, true),
      quarantinedDevices(tx, caller, orgId),
    ]);
    if (orgId !== null && owner === null) throw organizationNotFound();
    if (found === null) return [];
    const { count, since } = found;
    const isOne = count === 1;
    return [
      {
        kind: "device",
        record: isOne ? { type: "device", id: found.id, name: found.hostname } : null,
        orgId: isOne ? found.org_id : orgId,
        partnerId: isOne ? found.partner_id : null,
        ...{ since, count },
        sentence: `${isOne ? "It has" : `${count} devices have`} the hardware id of another active device: approve, merge or reject.`,
      },
    ];
  },
};
