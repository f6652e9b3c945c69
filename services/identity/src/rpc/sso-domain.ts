import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, systemCaller, uuidv7, validationError } from "@muster/kit";
import { type SsoDomain, SsoDomainSchema, SsoDomainService } from "@muster/proto/muster/identity/v1/sso_domain_pb";
import { callContext } from "@muster/rpc";
import { checkedBefore, idempotentTx, requireWholeOrganization } from "@muster/service";
import { claimDomain } from "../commands/claim-address.ts";
import { domainError, newDomainToken, recordName, recordValue } from "../commands/sso/check-domain.ts";
import { newOwner, requireOwner } from "../commands/sso/owner.ts";
import type { SsoDeps } from "../deps.ts";
import { recordDomain } from "../emits/sso-facts.ts";
import { ownerOf } from "../rules/owner.ts";
import { asciiDomain, unclaimable } from "../rules/sso/email-domain.ts";
import { tenantOf } from "../rules/sso/provider.ts";
import { forgetDomainProofs, lockDomainOwner } from "../store/addresses.ts";
import {
  countDomains,
  type DomainRow,
  deleteDomain,
  findDomain,
  insertDomain,
  isDomainTaken,
  listDomains,
  lockDomain,
  noteCheck,
} from "../store/sso/domains.ts";
import { requireManager, requireReader } from "./guards.ts";
import { ownerFilter } from "./list-filters.ts";

/** Domains of one organization, or of one partner's own. */
const maxDomains = 500;

type Handlers = ServiceImpl<typeof SsoDomainService>;

/** Domains that organizations and partners have shown to be their own (docs/sso.md#verified-domains). */
export function ssoDomainService(deps: SsoDeps): ServiceImpl<typeof SsoDomainService> {
  return { ...domainReads(deps), ...domainChanges(deps) };
}

function domainReads(deps: SsoDeps): Pick<Handlers, "listSsoDomains"> {
  const { db } = deps;
  return {
    async listSsoDomains(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const filter = await ownerFilter(deps, context, request);
      const { rows, info } = await listDomains(db, context, filter, clampPage(request.page ?? {}));
      return { domains: rows.map(domainMessage), page: info };
    },
  };
}

function domainChanges(deps: SsoDeps): Pick<Handlers, "createSsoDomain" | "verifySsoDomain" | "deleteSsoDomain"> {
  const { db, now } = deps;
  return {
    async createSsoDomain(request, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      const domain = asciiDomain(request.domain);
      const error = domain === null ? "Must be a domain name" : unclaimable(domain);
      if (domain === null || error) throw validationError({ domain: [error ?? ""] });
      const owner = await newOwner(deps, context, request);
      const make = async (tx: Tx) => {
        if ((await countDomains(tx, owner)) >= maxDomains) {
          throw new AppError("limit_reached", "No more domains can be claimed here", { facts: { limit: maxDomains } });
        }
        const createdBy = context.caller.actor.id;
        const wanted = { id: uuidv7(at.getTime()), owner, domain, token: newDomainToken(), createdBy };
        const row = await insertDomain(tx, wanted, at);
        if (!row) throw new AppError("name_taken", "This domain was claimed here before");
        recordDomain(tx, context, row, "sso.domain.create", { changes: { before: {}, after: { domain } } }, at);
        return { domain: domainMessage(row) };
      };
      return idempotentTx(db, context, SsoDomainService.method.createSsoDomain, request, checkedBefore, make);
    },

    async verifySsoDomain({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const seen = await requireDomain(deps, context, id);
      const { domain, token } = seen;
      // Looked up before the transaction: no connection is held during DNS queries.
      const error = await domainError(deps.txt, domain, token);
      const row = await db
        .tx(asService(context, seen), async (tx) => {
          const at = now();
          await lockDomainOwner(tx, domain);
          const before = await lockDomain(tx, context.caller, id);
          if (!before) throw domainNotFound();
          const after = await noteCheck(tx, id, error, at);
          const isNew = before.verified_at === null && after.verified_at !== null;
          const claimed = isNew ? await claimDomain(tx, context, { domain, owner: ownerOf(after) }, at) : {};
          const details = {
            verified: after.verified_at !== null,
            ...claimed,
            ...(error === null ? {} : { error }),
          };
          recordDomain(tx, context, after, "sso.domain.verify", details, at);
          return after;
        })
        .catch((error: unknown) => {
          if (isDomainTaken(error)) throw new AppError("domain_taken", "This domain is verified elsewhere");
          throw error;
        });
      return { domain: domainMessage(row) };
    },

    async deleteSsoDomain({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const seen = await requireDomain(deps, context, id);
      await db.tx(asService(context, seen), async (tx) => {
        await lockDomainOwner(tx, seen.domain);
        const row = await lockDomain(tx, context.caller, id);
        if (!row) throw domainNotFound();
        await deleteDomain(tx, id);
        if (row.verified_at !== null) await forgetDomainProofs(tx, row.domain, ownerOf(row));
        const before = { domain: row.domain, verified: row.verified_at !== null };
        recordDomain(tx, context, row, "sso.domain.delete", { changes: { before, after: {} } }, now());
      });
      return {};
    },
  };
}

function requireWriter(deps: SsoDeps, context: CallContext) {
  requireManager(context, deps);
  requireWholeOrganization(context);
}

async function requireDomain({ db }: SsoDeps, context: CallContext, id: string): Promise<DomainRow> {
  const row = isUuid(id) ? await findDomain(db, context, id) : null;
  if (!row) throw domainNotFound();
  requireOwner(context, row);
  return row;
}

function domainMessage(row: DomainRow): SsoDomain {
  return create(SsoDomainSchema, {
    id: row.id,
    orgId: row.org_id ?? "",
    partnerId: row.org_id === null ? row.partner_id : "",
    domain: row.domain,
    recordName: recordName(row.domain),
    recordValue: recordValue(row.token),
    verifiedAt: row.verified_at ? timestampFromDate(row.verified_at) : undefined,
    lastCheckedAt: row.last_checked_at ? timestampFromDate(row.last_checked_at) : undefined,
    lastError: row.last_error ?? "",
    createdBy: row.created_by,
    createdAt: timestampFromDate(row.created_at),
  });
}

/** A domain's owner changes accounts that its caller does not see. */
const asService = (context: CallContext, row: DomainRow): CallContext & { actsFor: string } => ({
  ...context,
  caller: systemCaller("identity"),
  actsFor: tenantOf(row),
});

const domainNotFound = () => new AppError("sso_domain_not_found", "Domain not found");
