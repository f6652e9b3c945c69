import type { ServiceImpl } from "@connectrpc/connect";
import type { Database } from "@muster/db";
import { AppError, type CallContext, isErrorCode, isUuid, systemCaller, validationError, zeroUuid } from "@muster/kit";
import type { NoteRefusalRequest, RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { callContext } from "@muster/rpc";
import { auditEvent } from "@muster/service";
import { findApiKey } from "../store/api-keys.ts";
import { findEnrollmentKey } from "../store/enrollment-keys.ts";
import { countRefusal } from "../store/refusals.ts";
import { findRole } from "../store/roles.ts";
import { findServicePrincipal } from "../store/service-principals.ts";
import { findDomain } from "../store/sso/domains.ts";
import { findProvider } from "../store/sso/providers.ts";
import { cachedTenants } from "../store/tenants.ts";
import { findUser } from "../store/users.ts";

/** A record as far as the caller sees it. */
type Owned = { id: string; name: string | null; org_id: string | null; partner_id: string | null };
type Find = (context: CallContext, id: string) => Promise<Owned | null>;

type RefusalDeps = { db: Database; now: () => Date };

/**
 * Refused changes, as gateways report them. A record of which identity knows the tenant leads to the row's chain; a
 * record of any other type leaves its row, under the id that was sent, in the chain of the caller.
 */
export function refusalService(deps: RefusalDeps): ServiceImpl<typeof RefusalService> {
  const finders = findersOf(deps.db);
  return {
    async noteRefusal(request, handler) {
      const context = callContext(handler);
      const { action, code, id, orgId, message } = request;
      if (!/^[a-z_]+(\.[a-z_]+)+$/.test(action)) throw validationError({ action: ["Not an action"] });
      if (!isErrorCode(code)) throw validationError({ code: ["Not an error code"] });
      if (context.caller.actor.type === "system")
        throw new AppError("permission_denied", "Only refusals of a caller are recorded");
      const type = request.resourceType || action.slice(0, action.indexOf("."));
      const find = Object.hasOwn(finders, type) ? finders[type] : undefined;
      const found = find && isUuid(id) ? await find(context, id) : null;
      const { org_id, partner_id } = found ?? (await namedOrganization(deps.db, context, orgId)) ?? ownTenant(context);
      const sentId = find === undefined && isUuid(id) ? id : zeroUuid;
      const at = deps.now();
      const event = auditEvent(
        "identity",
        context,
        {
          action,
          resource: { type, id: found?.id ?? sentId, name: found?.name ?? null },
          orgId: org_id,
          partnerId: partner_id,
          details: { ...factsOf(request), code },
          result: "denied",
          errorMessage: message,
        },
        at,
      );
      await deps.db.tx({ ...context, caller: systemCaller("identity") }, async (tx) => {
        if (await countRefusal(tx, context.caller.actor.id, action, at)) tx.emit(event);
      });
      return {};
    },
  };
}

function findersOf(db: Database): Readonly<Record<string, Find>> {
  return {
    api_key: (context, id) => findApiKey(db, context, id),
    enrollment_key: (context, id) => findEnrollmentKey(db, context, id),
    service_principal: (context, id) => findServicePrincipal(db, context, id),
    user: (context, id) => findUser(db, context, id),
    role: (context, id) => findRole(db, context, id),
    sso_provider: (context, id) => findProvider(db, context, id),
    async sso_domain(context, id) {
      const row = await findDomain(db, context, id);
      return row && { ...row, name: row.domain };
    },
    organization: (context, id) => namedOrganization(db, context, id),
    async site(context, id) {
      const { sites } = await cachedTenants(db, context, { partnerId: null, orgIds: [], siteIds: [id] });
      const site = sites.get(id);
      if (!site?.orgId || !isInScope(context, site.orgId)) return null;
      return { id, name: null, org_id: site.orgId, partner_id: site.partnerId };
    },
    async partner(context, id) {
      const { partner } = await cachedTenants(db, context, { partnerId: id, orgIds: [], siteIds: [] });
      return partner ? { id, name: null, org_id: null, partner_id: id } : null;
    },
  };
}

/** Whether a partner's user who has some of its organizations has this one. */
const isInScope = ({ caller }: CallContext, orgId: string) =>
  caller.scope !== "partner" || caller.orgAccess.mode !== "list" || caller.orgAccess.orgIds.includes(orgId);

/** An organization that the caller sees; null for every other id. */
async function namedOrganization(db: Database, context: CallContext, id: string): Promise<Owned | null> {
  if (!isUuid(id) || !isInScope(context, id)) return null;
  const { orgs } = await cachedTenants(db, context, { partnerId: null, orgIds: [id], siteIds: [] });
  const org = orgs.get(id);
  return org ? { id, name: null, org_id: id, partner_id: org.partnerId } : null;
}

const ownTenant = ({ caller }: CallContext) => ({ org_id: caller.orgId, partner_id: caller.partnerId });

function factsOf({ factsJson }: NoteRefusalRequest): object {
  const facts: unknown = factsJson === "" ? {} : JSON.parse(factsJson);
  if (typeof facts !== "object" || facts === null) throw validationError({ factsJson: ["Must be an object"] });
  return facts;
}
