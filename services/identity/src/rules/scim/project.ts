import type { ScimDocument } from "./document.ts";
import { attributePath } from "./filter.ts";

/** Which attributes a reply has (RFC 7644, section 3.9): exactly these, or all but those. */
export type Projection = { attributes: readonly string[]; excluded: readonly string[] };

export const everything: Projection = { attributes: [], excluded: [] };

/** Names of one query parameter: separated by commas. */
export const namesIn = (text: string): string[] =>
  text
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "")
    .slice(0, 100);

const always: readonly string[] = ["id", "schemas"];

/** Whether a reply has an attribute, so that it need not be read otherwise. */
export function includes({ attributes, excluded }: Projection, name: string): boolean {
  const wanted = name.toLowerCase();
  const isNamed = (name: string) => {
    const path = attributePath(name);
    return path.name === wanted || name === wanted;
  };
  if (attributes.length > 0) return attributes.some(isNamed);
  return !excluded.some((name) => isNamed(name) && attributePath(name).sub === null);
}

/** A resource with the attributes that were asked for; `id` and `schemas` always stay. */
export function project(document: ScimDocument, projection: Projection): ScimDocument {
  const { attributes, excluded } = projection;
  if (attributes.length === 0 && excluded.length === 0) return document;
  const kept: ScimDocument = {};
  for (const [name, value] of Object.entries(document)) {
    const isExtension = name.toLowerCase().startsWith("urn:");
    const found = always.includes(name)
      ? value
      : isExtension
        ? ofExtension(name, value, projection)
        : keep(name, value, projection, null);
    if (found !== undefined) kept[name] = found;
  }
  return kept;
}

function ofExtension(urn: string, value: unknown, projection: Projection): unknown {
  const lower = urn.toLowerCase();
  const isWhole = (name: string) => name === lower;
  if (projection.attributes.some(isWhole)) return value;
  if (projection.excluded.some(isWhole)) return undefined;
  const parts = Object.entries(value as ScimDocument).flatMap(([name, part]) => {
    const found = keep(name, part, projection, lower);
    return found === undefined ? [] : [[name, found] as const];
  });
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}

function keep(name: string, value: unknown, { attributes, excluded }: Projection, urn: string | null): unknown {
  const lower = name.toLowerCase();
  const named = (listed: readonly string[]) =>
    listed
      .map(attributePath)
      .filter((path) => path.name === lower && (urn === null ? isCore(path.urn) : path.urn === urn));
  if (attributes.length > 0) {
    const found = named(attributes);
    if (found.length === 0) return undefined;
    if (found.some(({ sub }) => sub === null)) return value;
    return withParts(value, (part) => found.some(({ sub }) => sub === part));
  }
  const found = named(excluded);
  if (found.some(({ sub }) => sub === null)) return undefined;
  return found.length === 0 ? value : withParts(value, (part) => !found.some(({ sub }) => sub === part));
}

const isCore = (urn: string | null) => urn === null || urn.includes(":core:2.0:");

/** A complex value, or each of a list, with some of its parts; undefined when none is left. */
function withParts(value: unknown, isKept: (part: string) => boolean): unknown {
  if (Array.isArray(value)) {
    const parts = value.map((one) => withParts(one, isKept)).filter((one) => one !== undefined);
    return parts.length === 0 ? undefined : parts;
  }
  if (typeof value !== "object" || value === null) return value;
  const parts = Object.entries(value).filter(([part]) => isKept(part.toLowerCase()));
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}
