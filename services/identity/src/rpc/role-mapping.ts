import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import {
  type CallContext,
  type FieldErrors,
  isUuid,
  longerThan,
  systemCaller,
  uuidv7,
  validationError,
} from "@muster/kit";
import {
  type DirectoryService,
  type RoleMapping,
  RoleMappingSchema,
} from "@muster/proto/muster/identity/v1/directory_pb";
import { callContext } from "@muster/rpc";
import { serializedByPartner } from "../commands/administer.ts";
import { readRules } from "../commands/directory/apply-roles.ts";
import { asDirectory } from "../commands/directory/client.ts";
import { applyOrDefer, rolesApplied } from "../commands/directory/pending-roles.ts";
import { requireSites } from "../commands/invite-user.ts";
import { requireDefaultRole } from "../commands/sso/prepare-provider.ts";
import type { KeyDeps } from "../deps.ts";
import { recordDirectory } from "../emits/directory-facts.ts";
import type { DirectoryRow } from "../rules/directory/directory.ts";
import { mappedRole } from "../rules/directory/role-mapping.ts";
import { ownerOf } from "../rules/owner.ts";
import { unknownGroup } from "../store/directory/groups.ts";
import {
  type MappingRow,
  managedUserIds,
  type NewMapping,
  readMappings,
  writeMappings,
} from "../store/directory/role-mappings.ts";
import { findTenants } from "../store/tenants.ts";
import { directoryGuards } from "./directory-guards.ts";

/** Rows of one mapping. */
const rowsMax = 500;
const claimMax = 255;

type Handlers = Pick<ServiceImpl<typeof DirectoryService>, "listRoleMappings" | "putRoleMappings" | "tryRoleMappings">;

/** Groups that are roles. */
export function roleMappingHandlers(deps: KeyDeps): Handlers {
  const { db, now } = deps;
  const { requireReadable, requireChangeable, lock } = directoryGuards(deps);

  return {
    async listRoleMappings({ id }, handler) {
      const context = callContext(handler);
      const directory = await requireReadable(context, id);
      const who = { ...context, caller: systemCaller("identity") };
      return db.tx(who, async (tx) => {
        const { rules } = await readRules(tx, who, directory);
        return { mappings: messagesOf(await readMappings(tx, directory.id), rules) };
      });
    },

    async putRoleMappings({ id, mappings }, handler) {
      const context = callContext(handler);
      const seen = await requireChangeable(context, id);
      const wanted = checked(mappings, seen);
      const held = await db.tx(context, (tx) => readMappings(tx, seen.id));
      const grantors = new Map(held.map((row) => [keyOf(newOf(row)), row.granted_by]));
      // Rows that stay as they are keep their author; whoever adds one must hold what it gives.
      for (const [at, row] of wanted.entries()) {
        if (grantors.has(keyOf(row))) continue;
        await requireDefaultRole(deps, context, ownerOf(seen), row.roleId, `mappings.${at}.roleId`);
      }
      await requireExistingSites(deps, context, seen, wanted);
      const { stored, applied } = await serializedByPartner(db, seen.partner_id, () =>
        db.tx({ ...context, caller: systemCaller("identity"), actsFor: seen.org_id ?? seen.partner_id }, async (tx) => {
          const directory = await lock(tx, context, seen);
          return replaceMappings(tx, context, directory, { wanted, grantors, at: now() });
        }),
      );
      await rolesApplied(deps, context, seen, applied);
      return { mappings: stored };
    },

    async tryRoleMappings({ id, groupIds, claims }, handler) {
      const context = callContext(handler);
      const directory = await requireReadable(context, id);
      const who = { ...context, caller: systemCaller("identity") };
      return db.tx(who, async (tx) => {
        const { rules, defaultRoleId, names } = await readRules(tx, who, directory);
        const mapped = mappedRole(rules, { groupIds: groupIds.map((one) => one.toLowerCase()), claims }, defaultRoleId);
        if (mapped === null) return {};
        const { roleId, siteIds, ruleId } = mapped;
        return {
          roleId,
          role: names.get(roleId) ?? "",
          siteRestricted: siteIds !== null,
          siteIds: [...(siteIds ?? [])],
          mappingId: ruleId ?? "",
        };
      });
    },
  };
}

interface Replacement {
  wanted: readonly NewMapping[];
  /** Authors of the rows that were there, by `keyOf`. */
  grantors: ReadonlyMap<string, string | null>;
  at: Date;
}

/** All rows of a directory, and what they do to the people whom it manages. */
async function replaceMappings(
  tx: Tx,
  context: CallContext,
  directory: DirectoryRow,
  { wanted, grantors, at }: Replacement,
) {
  const groups = wanted.flatMap(({ groupId }) => groupId ?? []);
  const unknown = await unknownGroup(tx, directory.id, groups);
  if (unknown) {
    throw validationError({ [`mappings.${groups.indexOf(unknown)}.groupId`]: ["No group of this directory"] });
  }
  const by = (row: NewMapping) => grantors.get(keyOf(row)) ?? context.caller.actor.id;
  const before = await readMappings(tx, directory.id);
  const granted = wanted.map((row) => ({ ...row, grantedBy: by(row) }));
  await writeMappings(tx, directory, granted, at);
  const after = await readMappings(tx, directory.id);
  const changes = { before: { mappings: before.map(shownOf) }, after: { mappings: after.map(shownOf) } };
  recordDirectory(tx, context, directory, "directory.mapping.update", { changes }, at);
  const rules = await readRules(tx, { ...context, caller: systemCaller("identity") }, directory);
  const users = await managedUserIds(tx, directory.id);
  const applied = await applyOrDefer(tx, asDirectory(context, directory), directory, users, "mapping", at);
  return { stored: messagesOf(after, rules.rules), applied };
}

/** Rows as they are stored. Throws `validation_failed` with each wrong field. */
function checked(mappings: readonly RoleMapping[], directory: DirectoryRow): NewMapping[] {
  if (mappings.length > rowsMax) throw validationError({ mappings: [`At most ${rowsMax} rows`] });
  const errors: FieldErrors = {};
  const rows = mappings.map((row, at): NewMapping => {
    const field = (name: string) => `mappings.${at}.${name}`;
    if ((row.groupId === "") === (row.claim === "")) errors[field("groupId")] = ["Either groupId or claim"];
    if (row.groupId !== "" && !isUuid(row.groupId)) errors[field("groupId")] = ["Must be a UUID"];
    if (longerThan(row.claim, claimMax)) errors[field("claim")] = [`At most ${claimMax} characters`];
    if (!isUuid(row.roleId)) errors[field("roleId")] = ["Must be a UUID"];
    if (!row.siteIds.every(isUuid)) errors[field("siteIds")] = ["Must be UUIDs"];
    if (row.siteRestricted && directory.org_id === null) errors[field("siteIds")] = ["For organizations only"];
    return {
      id: uuidv7(),
      groupId: row.groupId.toLowerCase() || null,
      claim: row.claim || null,
      roleId: row.roleId.toLowerCase(),
      siteIds: row.siteRestricted ? [...new Set(row.siteIds.map((id) => id.toLowerCase()))].sort() : null,
      grantedBy: null,
    };
  });
  if (Object.keys(errors).length > 0) throw validationError(errors);
  return rows;
}

/** Throws `site_not_found` for sites of other organizations. */
async function requireExistingSites(
  deps: KeyDeps,
  context: ReturnType<typeof callContext>,
  { partner_id: partnerId, org_id: orgId }: DirectoryRow,
  rows: readonly NewMapping[],
): Promise<void> {
  const siteIds = [...new Set(rows.flatMap((row) => row.siteIds ?? []))];
  if (siteIds.length === 0) return;
  const tenants = await findTenants(deps, context, { partnerId: null, orgIds: [], siteIds });
  requireSites({ partnerId, orgId, orgAccess: "none", orgIds: [] }, siteIds, tenants);
}

const newOf = (row: MappingRow): NewMapping => ({
  id: row.id,
  groupId: row.group_id,
  claim: row.claim,
  roleId: row.role_id,
  siteIds: row.site_ids,
  grantedBy: row.granted_by,
});

const keyOf = ({ groupId, claim, roleId, siteIds }: NewMapping): string =>
  JSON.stringify([groupId, claim, roleId, siteIds && [...siteIds].sort()]);

const shownOf = ({ group_id: groupId, claim, role, site_ids: siteIds }: MappingRow) => ({
  ...(groupId === null ? { claim } : { groupId }),
  role,
  siteIds,
});

const messagesOf = (rows: readonly MappingRow[], rules: readonly { id: string; isGranted: boolean }[]) =>
  rows.map((row) =>
    create(RoleMappingSchema, {
      id: row.id,
      groupId: row.group_id ?? "",
      groupName: row.group_name ?? "",
      claim: row.claim ?? "",
      roleId: row.role_id,
      role: row.role,
      siteRestricted: row.site_ids !== null,
      siteIds: row.site_ids ?? [],
      inert: !rules.some(({ id, isGranted }) => id === row.id && isGranted),
    }),
  );
