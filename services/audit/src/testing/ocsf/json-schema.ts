import { readFileSync } from "node:fs";

type Attribute = {
  type?: string;
  requirement?: string;
  is_array?: boolean;
  enum?: Record<string, { caption: string }>;
  profile?: string | null;
};
type Definition = {
  name?: string;
  extends?: string;
  uid?: number;
  category?: string;
  attributes?: Record<string, Attribute | string | string[]>;
  constraints?: { at_least_one?: string[]; just_one?: string[] };
};
type Type = { type?: string; regex?: string; max_len?: number; range?: [number, number] };
type Definitions = {
  version: string;
  classes: Record<string, Definition>;
  objects: Record<string, Definition>;
  profiles: Record<string, Definition>;
  categories: Record<string, { uid: number }>;
  attributes: Record<string, Attribute>;
  types: Record<string, Type>;
};

const definitions: Definitions = JSON.parse(readFileSync(new URL("definitions.json", import.meta.url), "utf8"));

type Schema = { properties?: Record<string, unknown> } & Record<string, unknown>;
type Attributes = Record<string, Attribute>;

export const version = definitions.version;

/**
 * A class of OCSF as JSON Schema, with what it inherits and includes. Attributes of a profile are left out unless the
 * profile is named; what no definition names is refused.
 */
export function jsonSchemaOf(className: string, profiles: readonly string[] = []): Schema {
  if (!definitions.classes[className]) throw new Error(`no class ${className}`);
  const objects = Object.keys(definitions.objects).map((name) => [
    name,
    recordSchema(definitions.objects, name, profiles),
  ]);
  const { classUid, categoryUid } = uidsOf(className);
  const schema = recordSchema(definitions.classes, className, profiles);
  const activities = Object.keys(attributesOf(definitions.classes, className, profiles).activity_id?.enum ?? {});
  // What the framework calculates for each class.
  const calculated = {
    class_uid: { const: classUid },
    category_uid: { const: categoryUid },
    type_uid: { enum: activities.map((id) => classUid * 100 + Number(id)) },
  };
  return { ...schema, properties: { ...schema.properties, ...calculated }, $defs: Object.fromEntries(objects) };
}

/** The name that a class has for an activity; undefined where it has no such number. */
export function activityName(className: string, id: number): string | undefined {
  const attribute = definitions.classes[className]?.attributes?.activity_id;
  const values = typeof attribute === "object" && !Array.isArray(attribute) ? (attribute.enum ?? {}) : {};
  return values[id]?.caption;
}

/** The `class_uid` and `category_uid` of a class. */
export function uidsOf(className: string): { classUid: number; categoryUid: number } {
  const categoryUid = definitions.categories[inherited(definitions.classes, className, "category")]?.uid ?? 0;
  return { classUid: categoryUid * 1_000 + (definitions.classes[className]?.uid ?? 0), categoryUid };
}

function recordSchema(all: Record<string, Definition>, name: string, profiles: readonly string[]): Schema {
  const attributes = attributesOf(all, name, profiles);
  const properties = Object.entries(attributes).flatMap(([attribute, own]) => {
    const schema = attributeSchema(attribute, own);
    return schema ? [[attribute, schema] as const] : [];
  });
  const required = Object.keys(attributes).filter((attribute) => attributes[attribute]?.requirement === "required");
  const { at_least_one: any, just_one: one } = constraintsOf(all, name);
  const alone = (names: readonly string[]) => names.map((each) => ({ required: [each] }));
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required,
    // An object without attributes of its own takes any.
    additionalProperties: properties.length === 0,
    ...(any ? { anyOf: alone(any) } : {}),
    ...(one ? { oneOf: alone(one) } : {}),
  };
}

/** What a class or object inherits, includes and changes; its own requirement and values win. */
function attributesOf(all: Record<string, Definition>, name: string, profiles: readonly string[]): Attributes {
  const definition = all[name];
  if (!definition) throw new Error(`no definition ${name}`);
  const attributes: Attributes = definition.extends ? attributesOf(all, definition.extends, profiles) : {};
  const { $include: included = [], ...own } = definition.attributes ?? {};
  for (const path of [included].flat() as string[]) {
    const profile = definitions.profiles[path];
    if (profile?.name && profiles.includes(profile.name)) merge(attributes, profile.attributes ?? {});
  }
  merge(attributes, own);
  return attributes;
}

function merge(attributes: Attributes, added: NonNullable<Definition["attributes"]>): void {
  for (const [name, own] of Object.entries(added)) {
    if (typeof own !== "object" || Array.isArray(own)) continue;
    const values = { ...attributes[name]?.enum, ...own.enum };
    attributes[name] = { ...attributes[name], ...own, ...(Object.keys(values).length > 0 ? { enum: values } : {}) };
  }
}

function attributeSchema(name: string, own: Attribute): Schema | null {
  const shared = definitions.attributes[name];
  if (!shared) throw new Error(`the dictionary has no ${name}`);
  const { type = "string_t", is_array: isArray, enum: sharedValues } = { ...shared, ...own };
  const item = typeSchema(type, { ...shared.enum, ...own.enum, ...sharedValues });
  return item && isArray ? { type: "array", items: item } : item;
}

/** Null for an object that no event of ours may have. */
function typeSchema(type: string, values: Record<string, unknown>): Schema | null {
  const scalar = definitions.types[type];
  if (!scalar) return definitions.objects[type] ? { $ref: `#/$defs/${type}` } : null;
  const { type: base = type, regex, max_len: maxLength, range } = scalar;
  if (base === "json_t") return {};
  const isNumber = base === "integer_t" || base === "long_t";
  const named = Object.keys(values);
  return {
    type: base === "boolean_t" ? "boolean" : isNumber ? "integer" : base === "float_t" ? "number" : "string",
    ...(named.length > 0 ? { enum: isNumber ? named.map(Number) : named } : {}),
    ...(regex ? { pattern: regex } : {}),
    ...(maxLength ? { maxLength } : {}),
    ...(range ? { minimum: range[0], maximum: range[1] } : {}),
  };
}

function constraintsOf(all: Record<string, Definition>, name: string): NonNullable<Definition["constraints"]> {
  const definition = all[name];
  if (definition?.constraints) return definition.constraints;
  return definition?.extends ? constraintsOf(all, definition.extends) : {};
}

function inherited(all: Record<string, Definition>, name: string, key: "category"): string {
  const definition = all[name];
  if (!definition) return "";
  return definition[key] ?? (definition.extends ? inherited(all, definition.extends, key) : "");
}
