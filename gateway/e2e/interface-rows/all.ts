// The endpoints that the API promises, row by row, written apart from the route table: what that is checked against.
import { auditRows } from "./audit.ts";
import { deviceRows } from "./devices.ts";
import { keyRows } from "./keys.ts";
import { platformRows } from "./platform.ts";
import type { InterfaceRow } from "./row.ts";
import { tenantRows } from "./tenants.ts";
import { userRows } from "./users.ts";
import { webhookRows } from "./webhooks.ts";

export type { Auth, InterfaceRow } from "./row.ts";

const areas = [keyRows, userRows, tenantRows, auditRows, deviceRows, webhookRows, platformRows];

/** The endpoints of the published interface. */
export const interfaceRows: readonly InterfaceRow[] = areas.flatMap((area) => area.interface);

/** Endpoints that are not part of the published interface. */
export const additionalRows: readonly InterfaceRow[] = areas.flatMap((area) => area.additional);
