// Writes the types of the API, and which of its operations repeat safely, from the OpenAPI document of the compiled
// gateway.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { openApiDocument } from "../../gateway/dist/openapi/document.js";
import { routes } from "../../gateway/dist/routes/index.js";
import { customEventType } from "../kit/dist/index.js";

const folder = fileURLToPath(new URL("src/generated/", import.meta.url));
const note = "// Made by generate.mjs from the OpenAPI document; not edited by hand.\n";

const document = openApiDocument(routes, { version: "0" });
const repeatable = Object.entries(document.paths)
  .filter(([, { post }]) => post?.parameters?.some(({ name }) => name === "Idempotency-Key"))
  .map(([path]) => path);
const anonymous = Object.entries(document.paths)
  .filter(([, methods]) => Object.values(methods).every(({ security }) => security.length === 0))
  .map(([path]) => path);

/** What each operation needs of its caller, as `METHOD path`. */
const access = Object.fromEntries(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { permission, mfa, scopes, allSites } = operation["x-access"];
      const needs = {
        ...(permission ? { permission } : {}),
        ...(mfa ? { mfa } : {}),
        ...(scopes ? { scopes } : {}),
        ...(allSites ? { allSites } : {}),
        ...(operation["x-effects"] ? { effects: operation["x-effects"] } : {}),
      };
      return [`${method.toUpperCase()} ${path}`, needs];
    }),
  ),
);

/** Each part of a schema that describes a value by itself. */
function partsOf(schema) {
  if (schema.$ref) return partsOf(document.components.schemas[schema.$ref.split("/").at(-1)]);
  const alternatives = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  if (schema.items) return partsOf(schema.items);
  return alternatives.length > 0 ? alternatives.flatMap(partsOf) : [schema];
}

/**
 * The fields of an object, or of the objects of a list, by name; null for any other value, also an object with free
 * names.
 */
function fieldsOf(schema) {
  const objects = partsOf(schema).filter(({ type }) => type === "object");
  if (objects.length === 0 || objects.some((object) => !object.properties || object.additionalProperties)) return null;
  const properties = objects.flatMap((object) => Object.entries(object.properties));
  return Object.fromEntries(properties.map(([name, property]) => [name, fieldsOf(property)]));
}

/** The fields that the body of each operation has, as `METHOD path`. */
const fields = Object.fromEntries(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const [content] = Object.values(requestBody?.content ?? {});
      return content ? [[`${method.toUpperCase()} ${path}`, fieldsOf(content.schema)]] : [];
    }),
  ),
);

/** `before${string}after` as a type. */
const template = (before, after) =>
  ts.factory.createTemplateLiteralType(ts.factory.createTemplateHead(before), [
    ts.factory.createTemplateLiteralTypeSpan(
      ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
      ts.factory.createTemplateTail(after),
    ),
  ]);

/** Beside names of a closed list, a plain text would let every misspelt one compile. */
const patterns = new Map([
  [customEventType.source, template("custom.", "")],
  ["^[a-z0-9_.]+\\.\\*$", template("", ".*")],
]);
const transform = ({ pattern }) => patterns.get(pattern);
const withoutOuterType = JSON.parse(JSON.stringify(document), (_name, value) =>
  value?.anyOf && value.type === "string" ? { ...value, type: undefined } : value,
);

mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}schema.ts`, note + astToString(await openapiTS(withoutOuterType, { transform })));
writeFileSync(
  `${folder}operations.ts`,
  `${note}export const repeatable: readonly string[] = ${JSON.stringify(repeatable, null, 2)};
export const anonymous: readonly string[] = ${JSON.stringify(anonymous, null, 2)};
`,
);
writeFileSync(
  `${folder}access.ts`,
  `${note}/**
 * What an operation needs of a person: a permission, a second factor, one of these levels of the hierarchy, every site
 * of their organization. And what it does that is better confirmed first: it destroys something, or its reply shows a
 * secret.
 */
export type OperationAccess = {
  permission?: string | Readonly<Record<"system" | "partner" | "organization", string>>;
  mfa?: true;
  scopes?: readonly string[];
  allSites?: true;
  effects?: readonly ("destroys" | "reveals")[];
};
/** By \`METHOD path\`. */
export const access: Readonly<Record<string, OperationAccess>> = ${JSON.stringify(access)};
`,
);
writeFileSync(
  `${folder}fields.ts`,
  `${note}/** Fields by name, each with its own where it is an object, or a list of objects, of closed names; else null. */
export type Fields = { readonly [name: string]: Fields | null };
/** What the body of each operation may hold, by \`METHOD path\`; null for any object. */
export const fields: Readonly<Record<string, Fields | null>> = ${JSON.stringify(fields)};
`,
);
