import { isDeepStrictEqual } from "node:util";
import { z } from "zod";

export type JsonSchema = { [key: string]: unknown };

/**
 * JSON Schema 2020-12 of a zod schema, as clients send (`input`) or get (`output`) it. Schemas with an id go to
 * `components` and are referred to, as OpenAPI 3.1 requires.
 */
export function jsonSchemaOf(
  schema: z.ZodType,
  io: "input" | "output",
  components: Map<string, JsonSchema>,
): JsonSchema {
  const whole = z.toJSONSchema(schema, { io, target: "draft-2020-12", unrepresentable: "any" }) as JsonSchema;
  const { $schema: _dialect, $defs: definitions, ...own } = whole;
  for (const [name, definition] of Object.entries((definitions ?? {}) as Record<string, JsonSchema>)) {
    addComponent(components, name, clean(definition));
  }
  const { id } = z.globalRegistry.get(schema) ?? {};
  const reference = `#/components/schemas/${id}`;
  const root = clean(own);
  // zod from 4.5 on answers a root with an id by a reference into `$defs`; before, by the schema itself.
  if (id === undefined || root.$ref === reference) return root;
  addComponent(components, id, root);
  return { $ref: reference };
}

/** One name means one schema: what is sent and what is answered would otherwise overwrite one another. */
export function addComponent(components: Map<string, JsonSchema>, name: string, schema: JsonSchema): void {
  const existing = components.get(name);
  if (existing !== undefined && !isDeepStrictEqual(existing, schema))
    throw new Error(`two schemas have the id ${name}`);
  components.set(name, schema);
}

/** Points references into the components; drops zod's `id`, which means something else in JSON Schema. */
function clean(value: JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => !(key === "id" && typeof item === "string"))
      .map(([key, item]) => [key, key === "$ref" ? referenceOf(String(item)) : cleanItem(item)]),
  );
}

function cleanItem(item: unknown): unknown {
  if (Array.isArray(item)) return item.map(cleanItem);
  return typeof item === "object" && item !== null ? clean(item as JsonSchema) : item;
}

function referenceOf(reference: string): string {
  return reference.replace("#/$defs/", "#/components/schemas/");
}
