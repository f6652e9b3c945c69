import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import type { ApiError, MusterClient } from "@muster/client";
import { fields as fieldsOfBodies } from "@muster/client/fields";
import { connect, type Operation } from "../connection.ts";
import { csvWriter } from "../csv.ts";
import { done, exits, Failure, wrongUsage } from "../failure.ts";
import { bodyOf, checkFields, idAndFilters, idOf, isObject, type JsonObject, jsonOf } from "../fields.ts";
import type { Globals, Io } from "../io.ts";
import { messageOf } from "../message-of.ts";
import { promptOf } from "../prompt.ts";
import { type Resource, resourceOf } from "../resources.ts";
import { recordText, tableWriter } from "../table.ts";
import { organizationTable } from "./organization-table.ts";
import { queryOfView } from "./saved-views.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;
type Method = (typeof methods)[number];
/** The method of an operation such as `GET /api/v1/devices`. */
export const methodOf = (operation: string): Method =>
  methods.find((each) => operation.startsWith(`${each} `)) ?? "GET";

type Call = (path: string, init: object) => Promise<{ data?: JsonObject; error?: ApiError; response: Response }>;
/** The table of resources was checked when it was compiled: here a path is a text. */
export const replyOf = (muster: MusterClient, method: Method, path: string, init: object) =>
  (muster[method] as unknown as Call)(path, init);
/** The record of a reply; throws a Failure when it is an error. */
export const call = (muster: MusterClient, method: Method, path: string, init: object) =>
  done(replyOf(muster, method, path, init));

export type GetOptions = Globals & {
  org?: string;
  of?: string;
  limit: string;
  all?: boolean;
  columns?: string;
  csv?: boolean;
  view?: string;
};

/** One record, or the rows of a list as they come. */
export async function get(io: Io, typed: string, args: readonly string[], options: GetOptions): Promise<void> {
  const resource = resourceOf(typed, "list");
  const { id, filters } = idAndFilters(args, resource.filters);
  const { muster } = connect(io, options);
  if (id !== null) {
    resourceOf(typed, "get");
    if (Object.keys(filters).length > 0 || options.org || options.of || options.view) {
      throw wrongUsage("an id takes no filters");
    }
    return show(io, options, await call(muster, "GET", `${resource.path}/{id}`, { params: { path: { id } } }));
  }
  const view = options.view === undefined ? {} : await queryOfView(muster, resource.name, options.view);
  const query = { ...view, ...(options.org ? withOrg(resource, options.org) : {}), ...filters };
  const rows = rowsOf(muster, resource, { query, of: options.of, limit: limitOf(options) });
  if (options.json) return showJson(io, rows);
  const columns = options.columns?.split(",") ?? resource.columns;
  const ofOrganizations = options.columns === undefined && !Object.hasOwn(query, "orgId");
  await showTable(io, rows, async (first) => {
    checkColumns(columns, first);
    if (options.csv) return csvWriter(columns);
    return ofOrganizations && Object.hasOwn(first, "orgId") ? organizationTable(muster, columns) : tableWriter(columns);
  });
}

function withOrg(resource: Resource, orgId: string): JsonObject {
  if (!resource.filters.includes("orgId")) throw wrongUsage(`${resource.name} are not listed by organization`);
  return { orgId };
}

function limitOf({ all, limit }: GetOptions): number {
  if (all) return Number.POSITIVE_INFINITY;
  const most = Number(limit);
  if (!Number.isInteger(most) || most < 1) throw wrongUsage(`--limit takes a whole number from 1 on, not "${limit}"`);
  return most;
}

type Wanted = { query: JsonObject; of: string | undefined; limit: number };
type Row = { row: JsonObject } | { more: true };

/** Rows up to the limit, and whether there is one beyond it. */
async function* rowsOf(muster: MusterClient, resource: Resource, { query, of, limit }: Wanted): AsyncGenerator<Row> {
  const isInside = resource.path.includes("{id}");
  if (isInside && !of) throw wrongUsage(`${resource.name} belong to a record: name it with --of ID`);
  if (!isInside && of) throw wrongUsage(`${resource.name} belong to no record: leave --of out`);
  const params = { query: { ...query, limit: String(Math.min(100, limit + 1)) }, ...(of ? { path: { id: of } } : {}) };
  const pages = muster.pages as unknown as (path: string, init: object) => AsyncGenerator<JsonObject>;
  let count = 0;
  const path = Object.hasOwn(query, "q") ? (resource.searchPath ?? resource.path) : resource.path;
  for await (const row of pages(path, { params })) {
    if (count++ === limit) return yield { more: true };
    yield { row };
  }
}

const aboutMore = "There are more: --limit N or --all shows them.\n";

type Writer = (rows: readonly JsonObject[]) => string | Promise<string>;

/** The lines of a page at a time, in the form that the first row asks for. */
async function showTable(
  io: Io,
  rows: AsyncGenerator<Row>,
  writerFor: (first: JsonObject) => Promise<Writer>,
): Promise<void> {
  let held: JsonObject[] = [];
  let write: Writer | null = null;
  const flush = async () => {
    const [first] = held;
    if (first === undefined) return;
    write ??= await writerFor(first);
    io.stdout.write(await write(held));
    held = [];
  };
  let hasMore = false;
  for await (const next of rows) {
    hasMore = "more" in next;
    if (!("more" in next) && held.push(next.row) === 100) await flush();
  }
  await flush();
  if (hasMore) io.stderr.write(aboutMore);
  if (write === null) io.stderr.write("None.\n");
}

/** Every row has every field of its list; throws a Failure for a column that is none. */
function checkColumns(columns: readonly string[], row: JsonObject): void {
  const wrong = columns.find((column) => !Object.hasOwn(row, column));
  if (wrong !== undefined) throw wrongUsage(`no column "${wrong}": known are ${Object.keys(row).join(", ")}`);
}

/** An array, written row by row: of a long list no more than a page is held. */
async function showJson(io: Io, rows: AsyncGenerator<Row>): Promise<void> {
  let head = "[\n";
  for await (const next of rows) {
    if ("more" in next) {
      io.stderr.write(aboutMore);
      break;
    }
    io.stdout.write(`${head}  ${JSON.stringify(next.row)}`);
    head = ",\n";
  }
  io.stdout.write(head === "[\n" ? "[]\n" : "\n]\n");
}

export function show(io: Io, { json }: Globals, record: object): void {
  io.stdout.write(json ? `${JSON.stringify(record, null, 2)}\n` : recordText(record));
}

export type BodyOptions = Globals & { org?: string; file?: string };

/** Throws a Failure for a file that cannot be read. */
export async function textOfFile(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw wrongUsage(`${file} cannot be read: ${messageOf(error)}`);
  }
}

/** The body that arguments and file spell, with fields of the operation only. */
export async function bodyFrom(
  io: Io,
  operation: Operation,
  fields: readonly string[],
  { org, file }: BodyOptions,
): Promise<JsonObject> {
  const content = file === undefined ? "{}" : file === "-" ? await text(io.stdin) : await textOfFile(file);
  const start = jsonOf(content, file ?? "");
  if (!isObject(start)) throw wrongUsage(`${file} holds no JSON object`);
  const body = bodyOf(fields, { ...(org ? { orgId: org } : {}), ...start });
  checkFields(body, fieldsOfBodies[operation] ?? null);
  return body;
}

export async function create(io: Io, typed: string, fields: readonly string[], options: BodyOptions): Promise<void> {
  const resource = resourceOf(typed, "create");
  const body = await bodyFrom(io, `POST ${resource.path}`, fields, options);
  show(io, options, await call(connect(io, options).muster, "POST", resource.path, { body }));
}

export async function update(io: Io, typed: string, id: string, fields: readonly string[], options: BodyOptions) {
  const resource = resourceOf(typed, "update");
  const body = await bodyFrom(io, `PATCH ${resource.path}/{id}`, fields, options);
  const init = { params: { path: { id: idOf(id) } }, body };
  show(io, options, await call(connect(io, options).muster, "PATCH", `${resource.path}/{id}`, init));
}

/** Deletes a record; at a terminal it prompts first, unless the option suppresses that. */
export async function remove(io: Io, typed: string, id: string, options: Globals): Promise<void> {
  const resource = resourceOf(typed, "delete");
  idOf(id);
  const { muster } = connect(io, options);
  await confirm(io, options, `Delete ${id} of ${resource.name}?`, "nothing was deleted");
  await call(muster, "DELETE", `${resource.path}/{id}`, { params: { path: { id } } });
  if (!options.json) io.stderr.write(`Deleted ${id} of ${resource.name}\n`);
}

/** Asks at a terminal, unless `--yes`; throws a Failure without a yes. */
export async function confirm(io: Io, { yes }: Globals, question: string, otherwise = "nothing was changed") {
  if (io.stdin.isTTY !== true || yes) return;
  const prompt = promptOf(io);
  try {
    const answer = (await prompt.ask(`${question} (yes)`)).toLowerCase();
    if (!["y", "yes"].includes(answer)) throw new Failure(exits.failed, otherwise);
  } finally {
    prompt.close();
  }
}

const rotations: Readonly<Record<string, string>> = {
  api: "/api/v1/api-keys/{id}/rotate",
  principal: "/api/v1/service-principals/{id}/rotate",
  enrollment: "/api/v1/enrollment-keys/{id}/rotate",
  webhook: "/api/v1/webhooks/{id}/rotate-secret",
};
/** Kinds whose old secret may go on for a while. */
const withGrace = ["api", "webhook"];

export type RotateOptions = Globals & { kind: string; grace?: string };

/** Replaces the secret of a key or webhook; the new one is in what is shown, this once. */
export async function rotate(io: Io, id: string, options: RotateOptions): Promise<void> {
  if (!Object.hasOwn(rotations, options.kind))
    throw wrongUsage(`--kind is one of ${Object.keys(rotations).join(", ")}`);
  const graceSeconds = options.grace === undefined ? null : Number(options.grace);
  if (graceSeconds !== null && !(Number.isInteger(graceSeconds) && graceSeconds >= 0)) {
    throw wrongUsage(`--grace takes whole seconds, not "${options.grace}"`);
  }
  if (graceSeconds !== null && !withGrace.includes(options.kind)) {
    throw wrongUsage("--grace is for API keys and webhooks only");
  }
  const body = graceSeconds === null ? {} : { graceSeconds };
  const path = rotations[options.kind] ?? "";
  const record = await call(connect(io, options).muster, "POST", path, { params: { path: { id } }, body });
  show(io, options, record);
  const what =
    options.kind === "webhook" ? "secret: its receivers verify with it" : "key now: it cannot be shown again";
  const old = graceSeconds ? ` The old one goes on for ${graceSeconds} s.` : "";
  if (!options.json) io.stderr.write(`Store this ${what}.${old}\n`);
}
