// Writes the types of the API, and which of its operations repeat safely, from the OpenAPI document of the compiled
// gateway.
import { mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";
import { openApiDocument } from "../../gateway/dist/openapi/document.js";
import { routes } from "../../gateway/dist/routes/index.js";

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

mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}schema.ts`, note + astToString(await openapiTS(document)));
writeFileSync(
  `${folder}operations.ts`,
  `${note}export const repeatable: readonly string[] = ${JSON.stringify(repeatable, null, 2)};
export const anonymous: readonly string[] = ${JSON.stringify(anonymous, null, 2)};
`,
);
writeFileSync(
  `${folder}access.ts`,
  `${note}/**
 * What an operation needs of a person: a permission, a second factor, one of these places in the hierarchy, every site
 * of their organization. And what it does that is better confirmed first: it destroys something, or its reply shows a
 * secret.
 */
export type OperationAccess = {
  permission?: string;
  mfa?: true;
  scopes?: readonly string[];
  allSites?: true;
  effects?: readonly ("destroys" | "reveals")[];
};
/** By \`METHOD path\`. */
export const access: Readonly<Record<string, OperationAccess>> = ${JSON.stringify(access)};
`,
);
