// The endpoints that the API promises, row by row, written apart from the route table: what that is checked against.
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

/** The endpoints of the published interface. */
export const interfaceRows: readonly InterfaceRow[] = areas.flatMap((area) => area.interface);

/** Endpoints added beside them. */
export const additionalRows: readonly InterfaceRow[] = areas.flatMap((area) => area.additional);
