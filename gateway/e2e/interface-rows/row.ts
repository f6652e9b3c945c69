import type { KeyScope, Permission, PortalCapability, Scope } from "@muster/kit";

export type Auth = "session" | "any" | "optional" | "none" | "agent" | "directory";

export type InterfaceRow = {
  method: string;
  /** Below /api/v1, or `{base}/…` for the root. Parameters as `:name`; their names do not matter. */
  path: string;
  auth: Auth;
  permission: Permission | Readonly<Record<Scope, Permission>> | null;
  mfa: boolean;
  /** Caller scopes that may call it; all three when the document names none. */
  scopes: readonly Scope[];
  /** Scopes of which an API key needs one; null where keys are refused, or need none. */
  keyScopes: readonly KeyScope[] | null;
  /** What a portal session needs; null where it finds nothing. */
  portal: "view" | PortalCapability | null;
  /** The issue that serves it; null for parts whose issue is not written yet. */
  issue: number | null;
};

/** An area's endpoints: those of the published interface, and additional ones. */
export type AreaRows = { interface: readonly InterfaceRow[]; additional: readonly InterfaceRow[] };

type Needs = Partial<Pick<InterfaceRow, "permission" | "mfa" | "scopes" | "auth">>;

const everyone: readonly Scope[] = ["organization", "partner", "system"];

/** Reads lines `METHOD path`; all of them have the same requirements. */
export function rows(issue: number | null, needs: Needs, lines: string): InterfaceRow[] {
  return lines
    .trim()
    .split("\n")
    .map((line) => {
      const [method = "", path = ""] = line.trim().split(/\s+/);
      const row = {
        method,
        path,
        auth: "session" as const,
        permission: null,
        mfa: false,
        scopes: everyone,
        issue,
        ...needs,
      };
      const keyScope = row.auth === "session" && !row.mfa ? keyScopeOf(method, path) : null;
      const portal = row.auth === "session" ? portalOf(method, path) : null;
      return { ...row, keyScopes: keyScope === null ? null : [keyScope], portal };
    });
}

/** What of an organization's webhooks a portal shows, and what it needs for more (docs/webhooks/portal.md). */
function portalOf(method: string, path: string): InterfaceRow["portal"] {
  if (/^\/webhooks\/(all|portal-links)/.test(path) || !path.startsWith("/webhooks")) return null;
  if (method === "GET") return "view";
  if (path === "/webhooks/event-types") return null;
  if (/\/rotate-(secret|signing-key)$/.test(path)) return "rotate_secrets";
  if (path.endsWith("/reveal-secret")) return "reveal_secrets";
  return /^\/webhooks(\/:id)?$/.test(path) ? "manage_webhooks" : "resend_deliveries";
}

/** Who may call it with a key (docs/behaviour.md#who-may-call-what). */
function keyScopeOf(method: string, path: string): KeyScope | null {
  const verb = method === "GET" ? "read" : "write";
  if (/^\/orgs\/(partners|organizations\/order)/.test(path)) return null;
  if (path.startsWith("/orgs/sites")) return `sites:${verb}`;
  if (path.startsWith("/orgs")) return `organizations:${verb}`;
  if (/^\/audit-logs(\/(logs|search|export|reports|verify|checkpoints).*)?$/.test(path)) return "audit:read";
  if (path === "/audit-logs/events") return "audit:append";
  if (/^\/(devices|system-tools)\/.*logs/.test(path)) return "logs:read";
  if (/^\/(device(s|-groups)|attention$)/.test(path)) return `devices:${verb}`;
  if (path.startsWith("/webhooks")) return `webhooks:${verb}`;
  if (!path.startsWith("/events")) return null;
  return method === "GET" ? "webhooks:read" : "events:write";
}

export const read: Needs = { permission: "organizations:read" };
export const write: Needs = { permission: "organizations:write" };
export const writeMfa: Needs = { ...write, mfa: true };
export const system: readonly Scope[] = ["system"];
export const partner: readonly Scope[] = ["partner"];
export const above: readonly Scope[] = ["partner", "system"];
export const open: Needs = { auth: "none" };
