import { z } from "zod";

export type JsonSchema = { [key: string]: unknown };

/**
 * JSON Schema 2020-12 of a zod schema, as clients send (`input`) or get (`output`) it. Schemas with an id go to `components` and are
 * referred to, as OpenAPI 3.1 wants.
 */
export function jsonSchemaOf(
  schema: z.ZodType,
  io: "input" | "output",
  components: Map<string, JsonSchema>,
): JsonSchema {
  const whole = z.toJSONSchema(schema, { io, target: "draft-2020-12", unrepresentable: "any" }) as JsonSchema;
  const { $schema: _dialect, $defs: definitions, ...own } = whole;
  for (const [name, definition] of Object.entries((definitions ?? {}) as Record<string, JsonSchema>)) {
    components.set(name, clean(definition));
  }
  const { id } = z.globalRegistry.get(schema) ?? {};
  if (id === undefined) return clean(own);
  components.set(id, clean(own));
  return { $ref: `#/components/schemas/${id}` };
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
