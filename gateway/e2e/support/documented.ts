import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { Cluster } from "./cluster.ts";

export type Replied = { method: string; path: string; status: number; headers: Headers; text: string };

type Described = { content?: Record<string, { schema: object }> };
type Operation = { responses: Record<string, Described> };
type Document = { paths: Record<string, Record<string, Operation>> };
type Template = { path: string; pattern: RegExp; methods: Record<string, Operation> };
type Checker = (reply: Replied) => string | null;

const checkers = new Map<string, Promise<Checker>>();

/**
 * Throws when a reply is not as the served OpenAPI document describes it: status, content type, body. `path` begins
 * with `/`.
 */
export async function checkDocumented(cluster: Cluster, reply: Replied): Promise<void> {
  const problem = await deviation(cluster, reply);
  if (problem) throw new Error(`${reply.method} ${reply.path} is not as documented: ${problem}`);
}

/** What of a reply is not as the served OpenAPI document describes it, error codes included; null when nothing is. */
export async function deviation(cluster: Cluster, reply: Replied): Promise<string | null> {
  let checker = checkers.get(cluster.url);
  if (!checker) {
    checker = load(cluster);
    checkers.set(cluster.url, checker);
    checker.catch(() => checkers.delete(cluster.url));
  }
  return (await checker)(reply);
}

async function load(cluster: Cluster): Promise<Checker> {
  const document = (await (await fetch(`${cluster.url}/api/v1/openapi.json`)).json()) as Document;
  return checkerOf(document);
}

/** What is wrong with a reply by a document; null when nothing is. */
export function checkerOf(document: Document): Checker {
  // A suite uses each schema a few times: optimising its code costs more than it saves. The whole document is no schema
  // and is not validated as one.
  const code = { optimize: false };
  const ajv = new Ajv2020({ strict: false, validateFormats: true, validateSchema: false, code });
  formats.default(ajv);
  ajv.addSchema(document, "document");
  // Most answers of an operation are errors, whose schemas are equal to those of other operations: what V8 and ajv make
  // of one serves all. References in them begin at the document, so equal texts mean the same.
  const compiled = new Map<string, ValidateFunction>();
  const texts = new WeakMap<object, string>();
  const validatorOf = (schema: object, reference: string): ValidateFunction => {
    const key = texts.get(schema) ?? JSON.stringify(schema);
    texts.set(schema, key);
    const validate = compiled.get(key) ?? ajv.compile({ $ref: reference });
    compiled.set(key, validate);
    return validate;
  };
  const templates = Object.entries(document.paths).map(templateOf).sort(byParameters);

  return ({ method, path, status, headers, text }) => {
    const pathname = path.split("?")[0] ?? "";
    const found = templates.find(({ pattern }) => pattern.test(pathname));
    const operation = found?.methods[method.toLowerCase()];
    // Of no row: what the router itself answers is not the document's, nor what a portal session gets on other rows.
    if (!found || !operation || (status === 404 && unknownRoute.test(text))) return null;
    const described = operation.responses[String(status)];
    if (!described) return `status ${status} is missing: ${text.slice(0, 200)}`;
    const type = headers.get("content-type");
    if (!described.content) return type === null || text === "" ? null : `status ${status} has a body`;
    const name = Object.keys(described.content).find((each) => type === each || type?.split(";")[0] === each);
    if (!name) return `content type ${type} of status ${status} is missing`;
    if (!/json$/.test(name)) return null;
    const pointer = ["paths", found.path, method.toLowerCase(), "responses", String(status), "content", name, "schema"];
    const reference = `document#/${pointer.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")}`;
    const validate = validatorOf(described.content[name]?.schema ?? {}, reference);
    if (validate(JSON.parse(text))) return null;
    return `body of status ${status}: ${ajv.errorsText(validate.errors)} in ${text.slice(0, 300)}`;
  };
}

/** By the text of `not_found`, in the body of each dialect. */
const unknownRoute = /"(error|detail|message)":"(not_found: )?Not found\b/;

function templateOf([path, methods]: [string, Record<string, Operation>]): Template {
  const source = path.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+");
  return { path, pattern: new RegExp(`^${source}/?$`), methods };
}

/** What is fixed goes before what varies: `/webhooks/event-types` is no `/webhooks/{id}`. */
const byParameters = (a: Template, b: Template) => a.path.split("{").length - b.path.split("{").length;
