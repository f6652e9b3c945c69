import { AppError, type Caller } from "@muster/kit";
import { type Checks, checks, type JsonObject, jsonBytes } from "./fields.ts";

/** Views of one user, and views shared in one tenant. */
export const maxViews = 500;
const maxQueryBytes = 8 * 1024;
const resourcePattern = /^[a-z][a-z-]{0,49}$/;

export type SavedViewFields = { name: string; query: JsonObject; shared: boolean };
export type NewSavedView = SavedViewFields & { resource: string };
type SavedViewInput = { name: string; queryJson: string; shared: boolean };

/** Paths of an update mask; list, tenant and owner are none of them. */
export const savedViewPaths = ["name", "query_json", "shared"] as const;

/** The fields of a new view; throws `validation_failed` naming each bad field. */
export function newSavedView(input: SavedViewInput & { resource: string }): NewSavedView {
  const check = checks();
  if (!resourcePattern.test(input.resource)) check.fail("resource", "Name of a list");
  const view = {
    name: check.name("name", input.name),
    resource: input.resource,
    query: queryField(input.queryJson, check),
    shared: input.shared,
  };
  check.done();
  return view;
}

/** The masked fields of a change; throws `no_updates` or `validation_failed`. */
export function savedViewChange(paths: readonly string[], patch: SavedViewInput): Partial<SavedViewFields> {
  const requested = savedViewPaths.filter((path) => paths.includes(path));
  if (requested.length === 0) throw new AppError("no_updates", "No updates provided");
  const check = checks();
  const change: Partial<SavedViewFields> = {};
  for (const path of requested) {
    if (path === "name") change.name = check.name("name", patch.name);
    if (path === "query_json") change.query = queryField(patch.queryJson, check);
    if (path === "shared") change.shared = patch.shared;
  }
  check.done();
  return change;
}

/** What of a view decides who may change it. */
export type ViewAccess = { shared: boolean; org_id: string | null; partner_id: string | null };

/**
 * Whether the caller may make or change such a view: their own needs nothing, a shared one the permission to change its
 * tenant. Throws `permission_denied`, `site_restricted` and `scope_not_allowed`.
 */
export function requireSharing(caller: Caller, view: ViewAccess): void {
  if (!view.shared) return;
  const permission = "organizations:write";
  if (!caller.permissions.includes(permission)) {
    throw new AppError("permission_denied", "Permission denied", { facts: { required: permission } });
  }
  if (caller.siteIds !== null) {
    throw new AppError("site_restricted", "Your account is restricted to single sites");
  }
  if (view.org_id === null && caller.scope === "partner" && caller.orgAccess.mode !== "all") {
    throw new AppError("scope_not_allowed", "This operation needs access to all organizations of the partner");
  }
}

/** Parameters of a list as texts and lists of texts. */
function queryField(json: string, check: Checks): JsonObject {
  const query = check.object("query", json);
  const isText = (value: unknown) => typeof value === "string";
  const isFit = (value: unknown) => isText(value) || (Array.isArray(value) && value.every(isText));
  if (!Object.values(query).every(isFit)) check.fail("query", "Texts, or lists of texts");
  else if (jsonBytes(query) > maxQueryBytes) check.fail("query", `At most ${maxQueryBytes} bytes of JSON`);
  return query;
}
