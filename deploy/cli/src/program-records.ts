import type { Command } from "commander";
import {
  type BodyOptions,
  create,
  type GetOptions,
  get,
  type RotateOptions,
  remove,
  rotate,
  update,
} from "./commands/records.ts";
import { runProgram } from "./external.ts";
import type { Io } from "./io.ts";
import { add, all, ended, organization } from "./program-parts.ts";
import { namesFor } from "./resources.ts";

/** `get`, `create`, `update` and `delete`. */
export function addRecords(parent: Command, io: Io) {
  const oneOf = (names: readonly string[]) => `one of: ${names.join(", ")}`;
  add(parent, "get", "rows of a list, or one record", "muster get devices status=offline --limit 20")
    .argument("<resource>", oneOf(namesFor("list")))
    .argument("[id-or-filters...]", "an id, or filters such as status=offline; times also as 30m, 12h or 7d ago")
    .addOption(organization())
    .option("--of <id>", "the record that the rows belong to, such as the webhook of deliveries")
    .option("--view <name>", "the filters of a saved view, by its name or id; others add to them")
    .option("--limit <n>", "rows at most", "50")
    .option("--all", "every row")
    .option("--csv", "rows as CSV, with a heading")
    .option("--columns <names>", "columns of the table, separated by commas")
    .action((resource: string, args: string[], _options, command: Command) =>
      get(io, resource, args, all<GetOptions>(command)),
    );
  add(
    parent,
    "create",
    "make a record",
    "muster create sites --org ID name=Berlin timezone=Europe/Berlin contact.email=it@example.com",
  )
    .argument("<resource>", oneOf(namesFor("create")))
    .argument("[fields...]", "name=text, count:=5 (JSON), scopes[]=devices:read (an item each), contact.email=text")
    .addOption(organization())
    .option("--file <file>", "a JSON object to start from; - for standard input")
    .action((resource: string, fields: string[], _options, command: Command) =>
      create(io, resource, fields, all<BodyOptions>(command)),
    );
  add(parent, "update", "change fields of a record", "muster update devices ID autoUpdateEnabled:=false")
    .argument("<resource>", oneOf(namesFor("update")))
    .argument("<id>")
    .argument("[fields...]", "as for create")
    .option("--file <file>", "a JSON object to start from; - for standard input")
    .action((resource: string, id: string, fields: string[], _options, command: Command) =>
      update(io, resource, id, fields, all<BodyOptions>(command)),
    );
  add(parent, "delete", "delete a record; an API key is revoked, a device decommissioned", "muster delete webhooks ID")
    .argument("<resource>", oneOf(namesFor("delete")))
    .argument("<id>")
    .action((resource: string, id: string, _options, command: Command) => remove(io, resource, id, all(command)));
}

/** `keys rotate` and `keys check`. */
export function addKeys(parent: Command, io: Io) {
  const keys = parent.command("keys").description("rotate keys, list their scopes, check what looks like one");
  add(
    keys,
    "rotate",
    "replace the secret of a key or a webhook; the new one is shown",
    "muster keys rotate ID --grace 300 --json | jq -r .key",
  )
    .argument("<id>")
    .option("--kind <kind>", "what the id names: api, principal, enrollment or webhook", "api")
    .option(
      "--grace <seconds>",
      "how long the old secret of an API key or a webhook goes on; without it not at all, a webhook's a day",
    )
    .action((id: string, _options, command: Command) => rotate(io, id, all<RotateOptions>(command)));
  add(
    keys,
    "check",
    "form and checksum of API keys, offline; from standard input without one",
    "muster keys check < candidates.txt",
  )
    .argument("[key]")
    .action((key: string | undefined) => runProgram("key", ["check", ...(key ? [key] : [])]).then(ended));
}
