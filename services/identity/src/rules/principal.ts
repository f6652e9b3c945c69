import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Caller, Scope } from "@muster/kit";
import { type Principal, PrincipalSchema } from "@muster/proto/muster/identity/v1/session_pb";

/** A user with role, permissions and grants. */
export type PrincipalRow = {
  user_id: string;
  email: string;
  name: string;
  department: string | null;
  role: string;
  permissions: string[];
  scope: Scope;
  partner_id: string | null;
  org_id: string | null;
  org_access: string;
  org_ids: string[];
  status: string;
  version: number;
  mfa_enabled: boolean;
  site_restricted: boolean;
  site_ids: string[];
  /** Of the user's partner and organization: "deleted", or "unknown" to the copy; null where there is none. */
  partner_status: string | null;
  org_status: string | null;
  /** A provider that enforces single sign-on governs the user: no password opens the account. */
  sso_enforced: boolean;
  /** The user's partner or organization requires a second factor of every session. */
  second_factor_required: boolean;
};

type SessionFacts = { id: string; mfaAt: Date | null; expiresAt: Date };

/** The user as the gateway gets them. */
export function principalMessage(row: PrincipalRow, session: SessionFacts): Principal {
  return create(PrincipalSchema, {
    userId: row.user_id,
    email: row.email,
    name: row.name,
    role: row.role,
    department: row.department ?? "",
    scope: row.scope,
    partnerId: row.partner_id ?? "",
    orgId: row.org_id ?? "",
    orgAccess: row.org_access,
    orgIds: row.org_ids,
    siteRestricted: row.site_restricted,
    siteIds: row.site_ids,
    permissions: row.permissions,
    mfaEnabled: row.mfa_enabled,
    mfaAt: session.mfaAt ? timestampFromDate(session.mfaAt) : undefined,
    sessionId: session.id,
    userVersion: row.version,
    sessionExpiresAt: timestampFromDate(session.expiresAt),
    partnerStatus: row.partner_status ?? "",
    orgStatus: row.org_status ?? "",
    secondFactorRequired: row.second_factor_required,
  });
}

/** The user as a caller, for what identity itself writes in their name. */
export function principalCaller(
  row: PrincipalRow,
  session: { id: string | null; mfaAt: Date | null } = { id: null, mfaAt: null },
): Caller {
  return {
    actor: {
      type: "user",
      id: row.user_id,
      email: row.email,
      name: row.name,
      role: row.role,
      department: row.department,
    },
    scope: row.scope,
    partnerId: row.partner_id,
    orgId: row.org_id,
    orgAccess: row.org_access === "all" ? { mode: "all" } : { mode: "list", orgIds: row.org_ids },
    siteIds: row.site_restricted ? row.site_ids : null,
    permissions: row.permissions,
    mfaAt: session.mfaAt,
    sessionId: session.id,
    keyId: null,
  };
}
