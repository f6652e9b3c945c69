import { AppError, type ErrorCode, hasFields, type Scope } from "@muster/kit";
import type { Route } from "../route/route.ts";
import { type InputError, parse, refusalOf } from "./input-errors.ts";

type Bodied = Pick<Route, "method" | "body" | "query" | "errors" | "aliases" | "dialect">;

/** Whether a row's body has a field of that name. */
export function hasField({ body }: Pick<Route, "body">, name: string): boolean {
  return body !== undefined && "shape" in body && Object.hasOwn(body.shape as object, name);
}

/** Whether the organization of a row's body may be in the query instead. */
export const takesOrgInQuery = (row: Pick<Route, "body" | "query">): boolean =>
  hasField(row, "orgId") && !Object.hasOwn(row.query?.shape ?? {}, "orgId");

/**
 * The body as its route accepts it; `orgId` may be in the query. Throws `no_updates` for a PATCH without a known field,
 * and AppError `validation_failed` with all errors; a tenant that `scope` has to name is among them.
 */
export function validateBody(
  row: Bodied,
  sent: unknown,
  query: Readonly<Record<string, unknown>>,
  scope: Scope | null,
): unknown {
  if (!row.body) return undefined;
  const value = withAliases(row, sent);
  const mustChange = row.method === "PATCH" && row.dialect === undefined;
  if (mustChange && hasFields(value) && !Object.entries(value).some((entry) => isUpdate(row, entry))) {
    throw new AppError("no_updates", "No updates provided");
  }
  const { body, orgErrors } = withOrganization(row, value, query);
  const { data, errors } = parse(row.body, body);
  const all = [...orgErrors, ...errors, ...missingTenant(row, body, scope)];
  if (all.length > 0) throw refusalOf(all);
  return data;
}

/** The organization locates the change and is not a change itself. */
function isUpdate(row: Bodied, [name, value]: [string, unknown]): boolean {
  return value !== undefined && name !== "orgId" && hasField(row, name);
}

function withAliases({ aliases }: Bodied, value: unknown): unknown {
  if (aliases === undefined || !hasFields(value)) return value;
  const read = Object.entries(aliases).map(([alias, name]) => [name, value[name] ?? value[alias]] as const);
  return { ...value, ...Object.fromEntries(read.filter(([, found]) => found !== undefined)) };
}

function withOrganization(
  row: Bodied,
  value: unknown,
  { orgId }: Readonly<Record<string, unknown>>,
): { body: unknown; orgErrors: InputError[] } {
  if (orgId === undefined || !takesOrgInQuery(row) || !hasFields(value)) return { body: value, orgErrors: [] };
  const own = value.orgId ?? undefined;
  const differs = own !== undefined && String(own).toLowerCase() !== String(orgId).toLowerCase();
  const orgErrors = differs ? [{ path: "orgId", text: "Differs from orgId of the query" }] : [];
  return { body: { ...value, orgId }, orgErrors };
}

/** Services refuse it, too; here it is reported with the other errors. A partner's own record has no organization. */
function missingTenant(row: Bodied, body: unknown, scope: Scope | null): InputError[] {
  if (scope === null || scope === "organization" || !hasFields(body)) return [];
  const isPartners = body.ownerScope === "partner";
  const lacks = (code: ErrorCode, field: string) =>
    row.errors?.includes(code) && hasField(row, field) && (body[field] ?? "") === "";
  if (!isPartners && lacks("organization_context_required", "orgId")) {
    return [required("orgId", "organization_context_required", "Organization context required")];
  }
  // The scope of a new role decides whether it has a partner.
  const isOfPartner = isPartners || !(hasField(row, "ownerScope") || hasField(row, "scope"));
  if (scope === "system" && isOfPartner && lacks("partner_id_required", "partnerId")) {
    return [required("partnerId", "partner_id_required", "partnerId is required for system scope")];
  }
  return [];
}

const required = (path: string, code: ErrorCode, text: string): InputError => ({
  path,
  text: "Required",
  coded: { code, text, facts: {} },
});
