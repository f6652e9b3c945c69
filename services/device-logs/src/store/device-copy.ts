import type { Database } from "@muster/db";
import { AppError, type CallContext, isUuid, type Logger } from "@muster/kit";
import type { DeviceChanged } from "@muster/proto/muster/events/v1/tenancy_pb";
import { type DeviceRow, findDevice, isCached, replaceDevices } from "./devices.ts";

/** Devices by id as tenancy has them now. Throws AppError. */
export type QueryTenancy = (ids: string[]) => Promise<DeviceChanged[]>;

export type DeviceCopy = {
  /** A device in the caller's access scope. Throws `device_not_found`, `unavailable` when only tenancy could decide. */
  find(context: CallContext, id: string): Promise<DeviceRow>;
};

/** A row without an update for a day is refreshed in the background. */
const staleMs = 86_400_000;

/**
 * Devices from the copy; a missing one, for example one that enrolled just now, is fetched from tenancy
 * (docs/decisions/0007-copies-of-tenants-and-devices-are-compared-with-tenancy.md).
 */
export function deviceCopy(deps: { db: Database; query: QueryTenancy; log: Logger; now: () => Date }): DeviceCopy {
  const { db, query, log, now } = deps;
  const inFlight = new Map<string, Promise<void>>();
  const fill = (id: string): Promise<void> => {
    let pending = inFlight.get(id);
    if (!pending) {
      pending = query([id])
        .then((devices) => (devices.length > 0 ? replaceDevices(db, devices) : undefined))
        .finally(() => inFlight.delete(id));
      inFlight.set(id, pending);
    }
    return pending;
  };
  return {
    async find(context, id) {
      let row = isUuid(id) ? await findDevice(db, context, id) : null;
      if (row && now().getTime() - row.heard_at.getTime() > staleMs) {
        fill(id).catch((err: unknown) => log.info({ err }, "device not refreshed"));
      }
      if (!row && isUuid(id)) {
        if (!(await isCached(db, id))) await fill(id);
        // Cached also means: cached by another request or an event since `findDevice` did not find it.
        row = await findDevice(db, context, id);
      }
      if (!row) throw new AppError("device_not_found", "Device not found");
      return row;
    },
  };
}
