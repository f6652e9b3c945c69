// node schemas.mjs OUTDIR FILE...: JSON schemas for kubeconform, which asks the internet otherwise. FILE.json is
// api/openapi-spec/swagger.json of the Go module k8s.io/kubernetes; FILE.yaml holds CustomResourceDefinitions.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

const [out, ...files] = process.argv.slice(2);
mkdirSync(out, { recursive: true });

const strict = (schema) => {
  if (Array.isArray(schema)) return schema.map(strict);
  if (schema === null || typeof schema !== "object") return schema;
  if (schema["x-kubernetes-int-or-string"] || schema.format === "int-or-string") return { type: ["string", "integer"] };
  const copy = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "$ref") copy.$ref = value.replace("#/components/schemas/", "#/definitions/");
    else if (key === "properties")
      copy.properties = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, strict(inner)]));
    else if (!["description", "default", "format", "example"].includes(key) && !key.startsWith("x-kubernetes-"))
      copy[key] = strict(value);
  }
  const open = schema.additionalProperties !== undefined || schema["x-kubernetes-preserve-unknown-fields"];
  if (copy.properties && !open) copy.additionalProperties = false;
  return copy;
};
const references = (schema, found = new Set()) => {
  for (const [key, value] of Object.entries(schema ?? {})) {
    if (key === "$ref" && typeof value === "string") found.add(value.split("/").pop());
    else if (typeof value === "object") references(value, found);
  }
  return found;
};

let count = 0;
const write = (kind, group, version, schema) => {
  const suffix = [group.split(".")[0], version].filter(Boolean).join("-");
  writeFileSync(
    join(out, `${kind}-${suffix}.json`.toLowerCase()),
    JSON.stringify({ $schema: "http://json-schema.org/draft-07/schema#", ...schema }),
  );
  count += 1;
};
const custom = (file) => {
  for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
    const { kind, spec } = document.toJS() ?? {};
    if (kind !== "CustomResourceDefinition") continue;
    for (const { name, schema } of spec.versions) {
      const body = strict(schema.openAPIV3Schema);
      body.properties = { ...body.properties, metadata: { type: "object" } };
      write(spec.names.kind, spec.group, name, body);
    }
  }
};
for (const file of files) {
  if (file.endsWith(".yaml")) {
    custom(file);
    continue;
  }
  const document = JSON.parse(readFileSync(file, "utf8"));
  const source = document.definitions ?? document.components?.schemas ?? {};
  const definitions = Object.fromEntries(Object.entries(source).map(([name, schema]) => [name, strict(schema)]));
  for (const [name, schema] of Object.entries(source)) {
    for (const { group, version, kind } of schema["x-kubernetes-group-version-kind"] ?? []) {
      if (kind.endsWith("List") || ["DeleteOptions", "WatchEvent", "Status"].includes(kind)) continue;
      const needed = new Set([name]);
      for (const next of needed) for (const reference of references(definitions[next])) needed.add(reference);
      const own = Object.fromEntries([...needed].map((reference) => [reference, definitions[reference]]));
      // Objects name their apiVersion and kind; the API itself leaves both optional.
      own[name] = {
        ...own[name],
        required: ["apiVersion", "kind", ...(own[name].required ?? [])],
        properties: {
          ...own[name].properties,
          apiVersion: { enum: [group ? `${group}/${version}` : version] },
          kind: { enum: [kind] },
        },
      };
      write(kind, group, version, { $ref: `#/definitions/${name}`, definitions: own });
    }
  }
}
console.log(`${count} schemas in ${out}`);
