import { hasFields, isUuid } from "@muster/kit";
import { requireComplete, type ScimDocument, schemaOf, valueAt } from "./document.ts";
import { scimInvalid, shown } from "./errors.ts";
import type { Filter } from "./filter.ts";
import { applyPatch, type PatchOperation } from "./patch.ts";
import { resources } from "./schema.ts";

/** A change of a group's members, which are a set of users' ids and never part of its document. */
export type MemberChange = { kind: "add" | "remove" | "set"; ids: readonly string[] };

export type GroupChange = { document: ScimDocument; members: MemberChange[] };

/** Ids in one request. */
export const memberIdsMax = 200_000;

const { Group } = resources;

/** The members of a posted group; empty when it has none. Throws `scim_invalid` (`invalidValue`, `noTarget`). */
export const membersOf = (body: unknown): string[] =>
  hasFields(body) ? memberIds(valueAt(body, "members") ?? []) : [];

/** A group's document after a PATCH, and the changes of its members in their order. Throws `scim_invalid`. */
export function changeGroup(before: ScimDocument, operations: readonly PatchOperation[]): GroupChange {
  const ofMembers = (operation: PatchOperation) =>
    operation.path?.name === "members" && schemaOf(Group, operation.path.urn) !== undefined;
  const others = operations.filter((operation) => !ofMembers(operation));
  const members = joined(operations.filter(ofMembers).flatMap(memberChange));
  if (members.reduce((count, { ids }) => count + ids.length, 0) > memberIdsMax) {
    throw scimInvalid("tooMany", `A request may name ${memberIdsMax} members; send more in further requests.`);
  }
  const document = others.length === 0 ? before : applyPatch(Group, before, others);
  requireComplete(Group, document);
  return { document, members };
}

/** Neighbours that add, or that remove, as one change: clients send an operation for each member. */
function joined(changes: readonly MemberChange[]): MemberChange[] {
  const all: MemberChange[] = [];
  for (const change of changes) {
    const last = all.at(-1);
    if (last && last.kind === change.kind && change.kind !== "set") all[all.length - 1] = merged(last, change);
    else all.push(change);
  }
  return all;
}

const merged = (one: MemberChange, other: MemberChange): MemberChange => ({
  kind: one.kind,
  ids: [...one.ids, ...other.ids],
});

function memberChange({ op, path, pathText, value }: PatchOperation): MemberChange[] {
  if (path?.sub) throw scimInvalid("mutability", `${shown(pathText)} cannot be changed: add and remove members.`);
  if (path?.filter) {
    const ids = idsOf(path.filter);
    if (ids === null) {
      throw scimInvalid("invalidPath", `Name members as members[value eq "<id>"], not ${shown(pathText)}.`);
    }
    if (op !== "remove") throw scimInvalid("mutability", "A member cannot be changed: add and remove members.");
    return [{ kind: "remove", ids }];
  }
  if (op === "remove" && (value === undefined || value === null)) return [{ kind: "set", ids: [] }];
  const ids = memberIds(value ?? []);
  if (op === "replace") return [{ kind: "set", ids }];
  return [{ kind: op, ids }];
}

/** Ids of `value eq "…"`, alone or joined by `or`. */
function idsOf(filter: Filter): string[] | null {
  if (filter.kind === "compare" && filter.operator === "eq" && filter.path.name === "value") {
    return [requireId(filter.value)];
  }
  if (filter.kind !== "or") return null;
  const parts = filter.of.map(idsOf);
  return parts.some((part) => part === null) ? null : parts.flatMap((part) => part ?? []);
}

function memberIds(value: unknown): string[] {
  const sent = Array.isArray(value) ? value : [value];
  return sent.map((one) => requireId(hasFields(one) ? valueAt(one, "value") : one));
}

/** An id that no user can have names nobody. */
function requireId(value: unknown): string {
  if (typeof value !== "string" || value === "") {
    throw scimInvalid("invalidValue", 'Each member needs a "value": the id of a user.');
  }
  if (!isUuid(value)) throw noMember(value);
  return value.toLowerCase();
}

export const noMember = (id: unknown) => scimInvalid("noTarget", `No user of this directory has the id ${shown(id)}.`);
