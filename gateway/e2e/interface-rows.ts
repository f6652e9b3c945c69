// The endpoints of the interface document, row by row, and those that 01-conventions adds: what the route table is checked against.
import { auditRows } from "./interface-rows/audit.ts";
import { deviceRows } from "./interface-rows/devices.ts";
import { keyRows } from "./interface-rows/keys.ts";
import { peopleRows } from "./interface-rows/people.ts";
import { platformRows } from "./interface-rows/platform.ts";
import type { InterfaceRow } from "./interface-rows/row.ts";
import { tenantRows } from "./interface-rows/tenants.ts";
import { webhookRows } from "./interface-rows/webhooks.ts";

export type { Auth, InterfaceRow } from "./interface-rows/row.ts";

const areas = [keyRows, peopleRows, tenantRows, auditRows, deviceRows, webhookRows, platformRows];

/** Every row of every endpoint table of the interface. */
export const interfaceRows: readonly InterfaceRow[] = areas.flatMap((area) => area.interface);

/** Routes that 01-conventions and the design add. */
export const additionalRows: readonly InterfaceRow[] = areas.flatMap((area) => area.additional);
