import { randomInt } from "node:crypto";

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minItems?: number;
  pattern?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
}

export interface Operation {
  method: string;
  path: string;
  body: { schema: Schema; example: Record<string, unknown> } | null;
  filters: { name: string; schema: Schema }[];
}

/** The kind of record that a field with an id, or a list of ids, points to. */
const kinds: Record<string, string> = {
  orgId: "organizations",
  organizationOrder: "organizations",
  partnerId: "partners",
  siteId: "sites",
  deviceId: "devices",
  deviceIds: "devices",
  groupId: "device-groups",
  roleId: "roles",
  userId: "users",
  keyId: "api-keys",
  providerId: "providers",
  deliveryId: "deliveries",
  replayId: "replays",
};
/** Fields whose values collide: they are few, and unique within their parents. */
const colliding = new Set(["name", "slug", "hostname"]);
const unknownId = "018f6f1e-7c2a-7b3d-9e4f-0a1b2c3d4e5f";

export const oneOf = <T>(all: readonly T[]): T | undefined => all[randomInt(Math.max(all.length, 1))];
export const happens = (share: number) => Math.random() < share;

/**
 * The newest records of each kind, `most` of them: few, so that operations meet at the same rows. The record with the
 * id `without` is left out. `secrets` holds keys with which devices enroll.
 */
export class Records {
  readonly #ids = new Map<string, string[]>();
  readonly secrets: string[] = [];

  readonly #most: number;
  readonly #without: string;

  constructor(most: number, without: string) {
    this.#most = most;
    this.#without = without;
  }

  add(kind: string, id: string): void {
    const ids = this.#ids.get(kind) ?? [];
    this.#ids.set(kind, ids);
    if (ids.includes(id) || id === this.#without) return;
    ids.push(id);
    if (ids.length > this.#most) ids.shift();
  }

  anyId(kind: string): string {
    return oneOf(this.#ids.get(kind) ?? []) ?? unknownId;
  }
}

interface Described {
  $ref?: string;
  requestBody?: { content?: Record<string, Operation["body"]> };
  parameters?: { $ref?: string; in?: string; name: string; schema: Schema }[];
  responses?: object;
}
export type Document = { paths: Record<string, Record<string, Described>> };

/** What the served OpenAPI document offers, but for paths that `left` matches; and what follows its references. */
export function operationsOf(document: Document, left: RegExp) {
  const resolve = <T extends { $ref?: string }>(it: T): T => {
    if (!it.$ref) return it;
    const steps = it.$ref.split("/").slice(1);
    return resolve(steps.reduce((at, name) => (at as Record<string, unknown>)[name], document as unknown) as T);
  };
  const operations: Operation[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, described] of Object.entries(methods)) {
      if (!described.responses || left.test(`${method} ${path}`)) continue;
      const body = described.requestBody?.content?.["application/json"] ?? null;
      const filters = (described.parameters ?? []).map(resolve).filter((each) => each.in === "query");
      operations.push({ method: method.toUpperCase(), path, body, filters });
    }
  }
  return { operations, resolve };
}

type Resolve = ReturnType<typeof operationsOf>["resolve"];

/** A value that fits the schema, mostly; undefined where only a pattern says what would. */
export function anyValue(records: Records, resolve: Resolve, name: string, reference: Schema, depth = 0): unknown {
  const schema = resolve(reference);
  if (schema.anyOf) return anyValue(records, resolve, name, oneOf(schema.anyOf) ?? {}, depth);
  if ("const" in schema) return schema.const;
  if (schema.enum) return oneOf(schema.enum);
  const type = Array.isArray(schema.type) ? oneOf(schema.type) : schema.type;
  const kind = kinds[name];
  if (type === "null") return null;
  if (type === "boolean") return happens(0.5);
  if (type === "integer" || type === "number")
    return Math.min(schema.maximum ?? 100, Math.max(schema.minimum ?? 0, oneOf([1, 2, 10, 50, 100]) as number));
  if (type === "array") {
    const length = Math.max(schema.minItems ?? 0, randomInt(4));
    const item = (_: unknown) =>
      kind ? records.anyId(kind) : anyValue(records, resolve, name, schema.items ?? {}, depth + 1);
    return Array.from({ length }, item);
  }
  if (schema.properties && depth < 3) {
    const chosen = Object.entries(schema.properties).filter(([key]) => schema.required?.includes(key) || happens(0.3));
    return Object.fromEntries(chosen.map(([key, of]) => [key, anyValue(records, resolve, key, of, depth + 1)]));
  }
  if (type !== "string") return {};
  if (kind) return records.anyId(kind);
  if (name === "enrollmentKey") return oneOf(records.secrets) ?? "0".repeat(64);
  if (name === "email") return `person-${randomInt(6)}@example.com`;
  if (colliding.has(name)) return `storm-${randomInt(7)}`;
  if (schema.format === "date-time") return new Date(Date.now() + (randomInt(3) - 1) * 86_400_000).toISOString();
  return schema.pattern || schema.format ? undefined : "storm";
}

/** The documented example with some fields of one's own; `fixed` fields always have these values. */
export function anyBody(records: Records, resolve: Resolve, operation: Operation, fixed: Record<string, unknown>) {
  if (!operation.body) return null;
  const body: Record<string, unknown> = happens(0.8) ? structuredClone(operation.body.example ?? {}) : {};
  const made = anyValue(records, resolve, "", operation.body.schema) as Record<string, unknown>;
  for (const [name, value] of Object.entries(made ?? {})) if (!(name in body) || happens(0.5)) body[name] = value;
  for (const name of Object.keys(body)) {
    const isList = Array.isArray(body[name]);
    const meets = name in kinds || colliding.has(name) || name === "email" || name === "enrollmentKey";
    const schema = isList ? { type: "array", minItems: 1, items: { type: "string" } } : { type: "string" };
    if (meets) body[name] = anyValue(records, resolve, name, schema);
    if (name in fixed) body[name] = fixed[name];
  }
  return body;
}

/** The path with ids: `{id}` is one of the kind that the segment before it names. */
export function anyPath(records: Records, operation: Operation, agentId: string | undefined): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string, at: number) => {
    const before = operation.path.slice(0, at).split("/").filter(Boolean).at(-1) ?? "";
    if (before === "agents") return agentId ?? unknownId;
    return records.anyId(kinds[name] ?? before);
  });
}
