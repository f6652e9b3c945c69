import type { Database } from "@muster/db";
import { AppError, type CallContext, isUuid, type Logger } from "@muster/kit";
import type { DeviceChanged } from "@muster/proto/muster/events/v1/tenancy_pb";
import { type DeviceRow, findDevice, isKnown, replaceDevices } from "./devices.ts";

/** Devices by id as tenancy has them now. Throws AppError. */
export type AskTenancy = (ids: string[]) => Promise<DeviceChanged[]>;

export type DeviceCopy = {
  /** A device within the caller's reach. Throws `device_not_found`, `unavailable` when only tenancy could decide. */
  find(context: CallContext, id: string): Promise<DeviceRow>;
};

/** A row without news for a day is refreshed in the background. */
const staleMs = 86_400_000;

/**
 * Devices from the copy; a missing one, for example one that enrolled just now, is fetched from tenancy
 * (docs/decisions/0007-copies-of-tenants-and-devices-are-compared-with-tenancy.md).
 */
export function deviceCopy(deps: { db: Database; ask: AskTenancy; log: Logger; now: () => Date }): DeviceCopy {
  const { db, ask, log, now } = deps;
  const asking = new Map<string, Promise<void>>();
  const fill = (id: string): Promise<void> => {
    let flight = asking.get(id);
    if (!flight) {
      flight = ask([id])
        .then((devices) => (devices.length > 0 ? replaceDevices(db, devices) : undefined))
        .finally(() => asking.delete(id));
      asking.set(id, flight);
    }
    return flight;
  };
  return {
    async find(context, id) {
      let row = isUuid(id) ? await findDevice(db, context, id) : null;
      if (row && now().getTime() - row.heard_at.getTime() > staleMs) {
        fill(id).catch((err: unknown) => log.info({ err }, "device not refreshed"));
      }
      if (!row && isUuid(id)) {
        if (!(await isKnown(db, id))) await fill(id);
        // Known also means: made known, by another request or an event, since it was looked for.
        row = await findDevice(db, context, id);
      }
      if (!row) throw new AppError("device_not_found", "Device not found");
      return row;
    },
  };
}
