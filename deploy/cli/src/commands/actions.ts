import { access } from "@muster/client/access";
import { fields as fieldsOfBodies } from "@muster/client/fields";
import { type Action, idsOf } from "../actions.ts";
import { connect, type Operation } from "../connection.ts";
import { wrongUsage } from "../failure.ts";
import { idAndFilters, idOf, isObject, type JsonObject } from "../fields.ts";
import type { Io } from "../io.ts";
import { recordText, tableWriter } from "../table.ts";
import { type BodyOptions, bodyFrom, call, confirm, methodOf } from "./records.ts";

export type ActionOptions = BodyOptions & { org?: string };

const isWriting = (operation: string): operation is Operation => !operation.startsWith("GET ");

/** Whether the operation takes a body: then its arguments are fields, otherwise filters. */
export const takesFields = ({ operation }: Action) => Object.hasOwn(fieldsOfBodies, operation);

/** Calls the operation of an action; at a terminal it prompts before what destroys something, unless `--yes`. */
export async function runAction(io: Io, action: Action, args: readonly string[], options: ActionOptions) {
  const names = idsOf(action);
  const { operation } = action;
  const [, path = ""] = operation.split(" ");
  const ids = Object.fromEntries(names.map((name, index) => [name, idOf(args[index] ?? "")]));
  const rest = args.slice(names.length);
  const { id, filters } = takesFields(action) ? { id: null, filters: {} } : idAndFilters(rest, action.filters);
  if (id !== null) throw wrongUsage(`"${id}" is no filter: NAME=VALUE`);
  const query = { ...(options.org === undefined ? {} : { orgId: options.org }), ...filters };
  const hasBody = takesFields(action) && isWriting(operation);
  const body = hasBody ? { body: await bodyFrom(io, operation, rest, options) } : {};
  const { muster } = connect(io, options);
  if (access[operation]?.effects?.includes("destroys")) {
    await confirm(io, options, `${action.words} ${args.slice(0, names.length).join(" ")}?`);
  }
  const reply = await call(muster, methodOf(operation), path, { params: { path: ids, query }, ...body });
  io.stdout.write(options.json ? `${JSON.stringify(reply, null, 2)}\n` : textOf(reply));
}

/** A reply as its own fields, and each list of records in it as a table. */
function textOf(reply: JsonObject): string {
  const lists = Object.entries(reply).flatMap(([name, value]) =>
    Array.isArray(value) && (name === "data" || value.some(isObject)) ? [{ name, rows: value.filter(isObject) }] : [],
  );
  const own = Object.entries(reply).filter(
    ([name]) => name !== "pagination" && !lists.some((list) => list.name === name),
  );
  const head = own.length > 0 ? [recordText(Object.fromEntries(own))] : [];
  return [...head, ...lists.map((list) => tableOf(list, lists.length > 1))].join("\n");
}

function tableOf({ name, rows }: { name: string; rows: readonly JsonObject[] }, isNamed: boolean): string {
  const [first] = rows;
  const title = isNamed ? `${name}\n` : "";
  if (first === undefined) return `${title}None.\n`;
  // Objects, such as the headers of an attempt, would make each line too wide to be read: --json has them.
  const columns = Object.keys(first).filter((column) => !rows.some((row) => isObject(row[column])));
  return `${title}${tableWriter(columns)(rows)}`;
}
