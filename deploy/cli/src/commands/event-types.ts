import { connect } from "../connection.ts";
import { done, wrongUsage } from "../failure.ts";
import { jsonOf } from "../fields.ts";
import type { Globals, Io } from "../io.ts";
import { tableWriter } from "../table.ts";
import { type BodyOptions, bodyFrom, call, show, textOfFile } from "./records.ts";

const path = "/api/v1/webhooks/event-types";
const sources = ["custom", "platform", "posted"] as const;

export type ListTypesOptions = Globals & { org?: string; source: string };

/** Event types that a webhook can subscribe to: the organization's own ones, or those of another source. */
export async function listEventTypes(io: Io, { org, source: typed, ...options }: ListTypesOptions): Promise<void> {
  const source = sources.find((each) => each === typed);
  if (!source) throw wrongUsage(`--source takes ${sources.join(", ")}, not "${typed}"`);
  const query = { source, ...(org ? { orgId: org } : {}) };
  const { data } = await done(connect(io, options).muster.GET(path, { params: { query } }));
  if (options.json) return void io.stdout.write(`${JSON.stringify(data, null, 2)}\n`);
  if (data.length === 0) return void io.stderr.write("None.\n");
  const rows = data.map((each) => ({ ...each, schema: each.schema ? "yes" : null }));
  io.stdout.write(tableWriter(["type", "description", "version", "schema", "archived"])(rows));
}

export type TypeOptions = BodyOptions & { schema?: string };

/** Defines an own event type, or changes one; `--schema` names a file with its JSON Schema. */
export async function writeEventType(
  io: Io,
  method: "POST" | "PATCH",
  type: string,
  fields: readonly string[],
  options: TypeOptions,
): Promise<void> {
  const start = await bodyFrom(io, `${method} ${path}`, fields, options);
  const { schema: file } = options;
  const schema = file === undefined ? {} : { schema: jsonOf(await textOfFile(file), file) };
  const body = { ...start, ...schema, type };
  const made = await call(connect(io, options).muster, method, path, { body });
  show(io, options, options.json ? made : { ...made, example: JSON.stringify(made.example) });
}
