import { access } from "@muster/client/access";

/** The signed-in user. */
export type Me = {
  id: string;
  email: string;
  name: string;
  scope: "system" | "partner" | "organization";
  partnerId: string | null;
  orgId: string | null;
  permissions: string[];
  mfaEnabled: boolean;
  /** The tenant requires a second factor, which this session lacks. */
  secondFactorRequired: boolean;
  role: string | null;
  /** Sites that the user is limited to; null when not limited. */
  siteIds: string[] | null;
};

const scopeNames: Readonly<Record<Me["scope"], string>> = {
  system: "the platform",
  partner: "a partner",
  organization: "an organization",
};

/** Why this user may not use an operation, as a sentence; null when allowed. `operation` as in the API's document. */
export function whyNot(me: Me, operation: string): string | null {
  const needs = access[operation];
  if (needs === undefined) throw new Error(`no operation ${operation}`);
  if (needs.scopes && !needs.scopes.includes(me.scope)) {
    return `It is for people of ${needs.scopes.map((scope) => scopeNames[scope as Me["scope"]]).join(" or ")}.`;
  }
  const permission = typeof needs.permission === "object" ? needs.permission[me.scope] : needs.permission;
  if (permission && !me.permissions.includes(permission)) return `You need the permission ${permission}.`;
  if (needs.allSites && me.siteIds !== null) return "Your account is limited to some sites.";
  return null;
}
