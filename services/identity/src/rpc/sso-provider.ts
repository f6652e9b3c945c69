import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { AppError, type CallContext, clampPage, isUuid, uuidv7, validationError } from "@muster/kit";
import { SsoProviderService } from "@muster/proto/muster/identity/v1/sso_provider_pb";
import { callContext } from "@muster/rpc";
import { changesBetween, checkedBefore, idempotentTx, repeatedReply, requireWholeOrganization } from "@muster/service";
import { newOwner, requireOwner } from "../commands/sso/owner.ts";
import { incomplete, prepareProvider, seenRole } from "../commands/sso/prepare-provider.ts";
import { renewKey } from "../commands/sso/renew-key.ts";
import { testProvider } from "../commands/sso/test-provider.ts";
import type { SsoDeps } from "../deps.ts";
import { recordProvider } from "../emits/sso-facts.ts";
import { ownerOf } from "../rules/owner.ts";
import { missingOf } from "../rules/sso/endpoints.ts";
import { ssoPresets } from "../rules/sso/presets.ts";
import { hasOtherSubjects, isSameVersion, type ProviderRow, type StoredCertificate } from "../rules/sso/provider.ts";
import { newProviderFields, providerChange, requireChange } from "../rules/sso/provider-fields.ts";
import { type FailedSignIns, providerHealth } from "../rules/sso/provider-health.ts";
import { failedSignIns, findAttempt, listAttempts } from "../store/sso/attempts.ts";
import { deleteLinksOf } from "../store/sso/identities.ts";
import {
  countProviders,
  deleteProvider,
  findProvider,
  insertProvider,
  listProviders,
  lockProvider,
  setProviderStatus,
  writeProvider,
} from "../store/sso/providers.ts";
import { requireManager, requireReader } from "./guards.ts";
import { ownerFilter } from "./list-filters.ts";
import { attemptMessage, certificateMessage, mappingMessage, providerMessage } from "./sso-provider-message.ts";

/** Providers of one organization, or of one partner's own. */
const maxProviders = 500;
/** Days for which both of our keys may count. */
const maxGraceDays = 90;
const statuses = ["inactive", "testing", "active"];
/**
 * A change is validated without a lock, since that may call the issuer; it restarts at most this often after a
 * concurrent change.
 */
const maxTries = 3;

type Handlers = ServiceImpl<typeof SsoProviderService>;

/** Identity providers. */
export function ssoProviderService(deps: SsoDeps): ServiceImpl<typeof SsoProviderService> {
  return { ...providerReads(deps), ...providerChanges(deps), ...providerStates(deps), ...providerTrials(deps) };
}

function providerReads(
  deps: SsoDeps,
): Pick<Handlers, "listSsoPresets" | "listSsoProviders" | "getSsoProvider" | "listSsoAttempts" | "getSsoAttempt"> {
  const { db } = deps;
  return {
    async listSsoPresets(_request, handler) {
      requireReader(callContext(handler));
      return {
        presets: ssoPresets.map(({ urlTemplate, mapping, ...preset }) => ({
          ...preset,
          issuerTemplate: preset.type === "oidc" ? urlTemplate : "",
          ssoUrlTemplate: preset.type === "saml" ? urlTemplate : "",
          attributeMapping: mappingMessage(mapping),
        })),
      };
    },

    async listSsoProviders(request, handler) {
      const context = callContext(handler);
      requireReader(context);
      const filter = await ownerFilter(deps, context, request);
      const { rows, info } = await listProviders(db, context, filter, clampPage(request.page ?? {}));
      const failed = await db.tx(context, (tx) => failedSignIns(tx, rows), { readOnly: true });
      return { providers: rows.map((each) => message(deps, each, failed)), page: info };
    },

    async getSsoProvider({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      return { provider: await read(deps, context, await requireProvider(deps, context, id)) };
    },

    async listSsoAttempts({ id, page }, handler) {
      const context = callContext(handler);
      requireReader(context);
      const providerId = id === "" ? null : (await requireProvider(deps, context, id)).id;
      const { rows, info } = await listAttempts(db, context, providerId, clampPage(page ?? {}));
      return { attempts: rows.map(attemptMessage), page: info };
    },

    async getSsoAttempt({ id }, handler) {
      const context = callContext(handler);
      requireReader(context);
      const row = isUuid(id) ? await findAttempt(db, context, id) : null;
      if (!row) throw new AppError("sso_attempt_not_found", "Sign-in not found");
      return { attempt: attemptMessage(row) };
    },
  };
}

function providerChanges(deps: SsoDeps): Pick<Handlers, "createSsoProvider" | "updateSsoProvider"> {
  const { db, now } = deps;
  return {
    async createSsoProvider(request, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const at = now();
      if (!request.input) throw validationError({}, ["Required"]);
      const { type, ...fields } = newProviderFields(request.input);
      if (fields.defaultRoleId !== null) {
        await seenRole(
          deps,
          context,
          fields.defaultRoleId,
          request.ownerScope === "partner" ? "partner" : "organization",
        );
      }
      const owner = await newOwner(deps, context, request);
      const { createSsoProvider } = SsoProviderService.method;
      const repeated = await repeatedReply(db, context, createSsoProvider, request);
      if (repeated) return repeated;
      const id = uuidv7(at.getTime());
      const values = await prepareProvider(deps, context, { id, type, owner, before: null }, fields);
      const make = async (tx: Tx) => {
        if ((await countProviders(tx, owner)) >= maxProviders) {
          throw new AppError("limit_reached", "No more providers can be created here", {
            facts: { limit: maxProviders },
          });
        }
        const row = await insertProvider(tx, id, owner, type, values, context.caller.actor.id, at);
        const changes = { before: {}, after: visibleFields(row) };
        recordProvider(tx, context, row, "sso.provider.create", { type, status: row.status, changes }, at);
        return { provider: message(deps, row, new Map()) };
      };
      return idempotentTx(db, context, createSsoProvider, request, checkedBefore, make);
    },

    async updateSsoProvider({ id, updateMask, input }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const paths = updateMask?.paths ?? [];
      requireChange(paths);
      if (!input) throw validationError({}, ["Required"]);
      for (let tried = 1; ; tried++) {
        const before = await requireProvider(deps, context, id);
        requireOwner(context, before);
        const fields = providerChange(paths, input, before.type);
        requireChange(paths);
        const owner = ownerOf(before);
        const values = await prepareProvider(deps, context, { id, type: before.type, owner, before }, fields);
        // Read as the service, behind `requireProvider` and the query's own conditions: administrators cannot see
        // users' links.
        const changed = await db.tx({ ...context, caller: deps.system }, async (tx) => {
          const locked = await lock(tx, context, id);
          if (!isSameVersion(locked, before)) return null;
          const at = now();
          const row = await writeProvider(tx, id, values, at);
          const details = changesBetween(visibleFields(before), visibleFields(row));
          if (fields.clientSecret !== undefined) details.changedFields.push("clientSecret");
          // Linked users are matched by address again; the same external id from elsewhere is another user.
          const linksRemoved = hasOtherSubjects(before, row) ? await deleteLinksOf(tx, id) : 0;
          recordProvider(tx, context, row, "sso.provider.update", { ...details, linksRemoved }, at);
          return row;
        });
        if (changed) return { provider: await read(deps, context, changed) };
        if (tried === maxTries) throw new AppError("unavailable", "The provider is being changed by another request");
      }
    },
  };
}

function providerStates(deps: SsoDeps): Pick<Handlers, "deleteSsoProvider" | "setSsoProviderStatus"> {
  const { db, now } = deps;
  return {
    async deleteSsoProvider({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      requireOwner(context, await requireProvider(deps, context, id));
      await db.tx(context, async (tx) => {
        const row = await lock(tx, context, id);
        await deleteProvider(tx, id);
        const changes = { before: visibleFields(row), after: {} };
        const details = { type: row.type, status: row.status, changes };
        recordProvider(tx, context, row, "sso.provider.delete", details, now());
      });
      return {};
    },

    async setSsoProviderStatus({ id, status }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      if (!statuses.includes(status)) throw validationError({ status: [`One of ${statuses.join(", ")}`] });
      requireOwner(context, await requireProvider(deps, context, id));
      const row = await db.tx(context, async (tx) => {
        const at = now();
        const before = await lock(tx, context, id);
        const missing = status === "active" ? missingOf(before, at) : [];
        if (missing.length > 0) throw incomplete(missing);
        if (before.status === status) return before;
        const after = await setProviderStatus(tx, id, status, at);
        const changes = { before: { status: before.status }, after: { status } };
        recordProvider(tx, context, after, "sso.provider.status.update", { status, changes }, at);
        return after;
      });
      return { provider: await read(deps, context, row) };
    },
  };
}

function providerTrials(deps: SsoDeps): Pick<Handlers, "testSsoProvider" | "renewSsoProviderKey"> {
  const { db, now } = deps;
  return {
    async testSsoProvider({ id }, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const row = await requireProvider(deps, context, id);
      requireOwner(context, row);
      const result = await testProvider(deps, context, row).catch(async (failure: unknown) => {
        const step = failure instanceof AppError ? failure.facts.step : "internal";
        await db.tx(context, async (tx) =>
          recordProvider(tx, context, row, "sso.provider.test", { success: false, step }, now()),
        );
        throw failure;
      });
      const { certificates, metadata, ...endpoints } = result;
      const fingerprints = (some: readonly StoredCertificate[] = []) => some.map(({ fingerprint }) => fingerprint);
      const compared = metadata && { added: fingerprints(metadata.added), missing: fingerprints(metadata.missing) };
      await db.tx(context, async (tx) =>
        recordProvider(tx, context, row, "sso.provider.test", { success: true, ...compared }, now()),
      );
      const samlMetadata = metadata && {
        ...metadata,
        added: metadata.added.map(certificateMessage),
        missing: metadata.missing.map(certificateMessage),
      };
      return {
        ...endpoints,
        samlCertificates: certificates.map(certificateMessage),
        ...(samlMetadata ? { samlMetadata } : {}),
      };
    },

    async renewSsoProviderKey(request, handler) {
      const context = callContext(handler);
      requireWriter(deps, context);
      const { id, graceDays } = request;
      if (graceDays > maxGraceDays) throw validationError({ graceDays: [`0 to ${maxGraceDays}`] });
      const seen = await requireProvider(deps, context, id);
      requireOwner(context, seen);
      if (seen.type !== "saml") throw validationError({}, ["Not for providers of type oidc"]);
      const { renewSsoProviderKey } = SsoProviderService.method;
      const repeated = await repeatedReply(db, context, renewSsoProviderKey, request);
      if (repeated) return repeated;
      const { newOwnKey } = await import("../crypto/saml/own-key.ts");
      // Before the provider is locked: it takes a tenth of a second.
      const fresh = await newOwnKey(now());
      const renew = async (tx: Tx) => {
        const row = await renewKey(deps, tx, await lock(tx, context, id), fresh, graceDays);
        recordProvider(tx, context, row, "sso.provider.keys.rotate", { graceDays }, now());
        return { provider: message(deps, row, await failedSignIns(tx, [row])) };
      };
      return idempotentTx(db, context, renewSsoProviderKey, request, checkedBefore, renew);
    },
  };
}

const message = ({ own, now }: SsoDeps, row: ProviderRow, failed: ReadonlyMap<string, FailedSignIns>) =>
  providerMessage(row, own, providerHealth(row, failed.get(row.id) ?? null, now()));

/** A provider as it is outside of a transaction. */
async function read(deps: SsoDeps, context: CallContext, row: ProviderRow) {
  return message(deps, row, await deps.db.tx(context, (tx) => failedSignIns(tx, [row]), { readOnly: true }));
}

function requireWriter(deps: SsoDeps, context: CallContext) {
  requireManager(context, deps);
  requireWholeOrganization(context);
}

async function requireProvider({ db }: SsoDeps, context: CallContext, id: string): Promise<ProviderRow> {
  const row = isUuid(id) ? await findProvider(db, context, id) : null;
  if (!row) throw providerNotFound();
  return row;
}

async function lock(tx: Tx, context: CallContext, id: string): Promise<ProviderRow> {
  const row = await lockProvider(tx, context.caller, id);
  if (!row) throw providerNotFound();
  return row;
}

/** The fields of a provider that people set, under the names that they set them by. */
const visibleFields = (row: ProviderRow) => ({
  name: row.name,
  preset: row.preset,
  issuer: row.issuer,
  clientId: row.client_id,
  scopes: row.scopes,
  attributeMapping: row.attribute_mapping,
  autoProvision: row.auto_provision,
  defaultRoleId: row.default_role_id,
  allowedDomains: row.allowed_domains,
  enforceSSO: row.enforce_sso,
  trustIdpMfa: row.trust_idp_mfa,
  authorizationUrl: row.authorization_url,
  tokenUrl: row.token_url,
  userInfoUrl: row.user_info_url,
  jwksUrl: row.jwks_url,
  samlEntityId: row.saml_entity_id,
  samlSsoUrl: row.saml_sso_url,
  samlCertificates: row.saml_certificates.map(({ fingerprint }) => fingerprint),
  samlMetadataUrl: row.saml_metadata_url,
  samlWantEncrypted: row.saml_want_encrypted,
  subjectAttribute: row.subject_attribute,
  samlSignRequests: row.saml_sign_requests,
});

export const providerNotFound = () => new AppError("sso_provider_not_found", "SSO provider not found");
