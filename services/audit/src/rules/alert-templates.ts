import type { AlertTemplate } from "@muster/kit";
import { type LogFilter, noFilter } from "./log-filter.ts";

type Ready = { filters: readonly LogFilter[]; threshold: { count: number; minutes: number } | null };

const succeeded = (change: Partial<LogFilter>): LogFilter => ({ ...noFilter, result: "success", ...change });
const after = (fields: Record<string, unknown>) => ({ changes: { after: fields } });

/** Ready-made searches: a row matches one of the filters. */
export const readyAlerts: Readonly<Record<AlertTemplate, Ready>> = {
  "new-administrator": {
    filters: [
      succeeded({
        actions: ["user.create", "user.permission.change"],
        details: ["org-admin", "partner-admin", "platform-admin"].map((role) => after({ role })),
      }),
    ],
    threshold: null,
  },
  "sso-disabled": {
    filters: [
      // Also back to testing: only an active provider signs users in.
      succeeded({
        actions: ["sso.provider.status.update"],
        details: [{ status: "inactive" }, { changes: { before: { status: "active" } } }],
      }),
      succeeded({ actions: ["sso.provider.update"], details: [after({ enforceSSO: false })] }),
      succeeded({ actions: ["sso.provider.delete"] }),
    ],
    threshold: null,
  },
  "key-with-all-scopes": {
    filters: [
      succeeded({
        actions: ["api_key.create", "api_key.update", "service_principal.create"],
        details: [after({ scopes: ["*"] })],
      }),
    ],
    threshold: null,
  },
  // Refusals leave one row per actor, action and minute.
  "many-refusals": { filters: [{ ...noFilter, result: "denied" }], threshold: { count: 10, minutes: 10 } },
};
