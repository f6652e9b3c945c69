// Writes the types of the API, and which of its operations repeat safely, from the OpenAPI document of the compiled gateway.
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

mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}schema.ts`, note + astToString(await openapiTS(document)));
writeFileSync(
  `${folder}operations.ts`,
  `${note}export const repeatable: readonly string[] = ${JSON.stringify(repeatable, null, 2)};
export const anonymous: readonly string[] = ${JSON.stringify(anonymous, null, 2)};
`,
);
