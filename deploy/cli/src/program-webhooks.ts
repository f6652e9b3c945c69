import type { Command } from "commander";
import { type ListTypesOptions, listEventTypes, type TypeOptions, writeEventType } from "./commands/event-types.ts";
import { type ListenOptions, listen } from "./commands/listen.ts";
import { type ReplayOptions, replay, resend } from "./commands/webhooks.ts";
import type { Io } from "./io.ts";
import { add, all, organization, time } from "./program-parts.ts";

/** `webhooks listen`, `resend`, `replay` and `event-types`. */
export function addWebhooks(program: Command, io: Io): void {
  const webhooks = program
    .command("webhooks")
    .description("receive on this machine, test, see why deliveries fail, send again, define event types");
  addEventTypes(webhooks, io);
  add(
    webhooks,
    "resend",
    "send a delivery again, also a delivered one; `get events ID` shows an event's deliveries",
    "muster webhooks resend WEBHOOK DELIVERY",
  )
    .argument("<webhook>")
    .argument("<delivery>")
    .action((id: string, delivery: string, _options, command: Command) => resend(io, id, delivery, all(command)));
  add(
    webhooks,
    "replay",
    "send earlier events of a webhook again; `get replays --of WEBHOOK` shows the progress",
    "muster webhooks replay WEBHOOK --since 2026-01-31 --status missing --dry-run",
  )
    .argument("<webhook>")
    .requiredOption("--since <time>", "from this time on, such as 2026-01-31 or 12h", time)
    .option("--until <time>", "before this time", time)
    .option("--status <status>", "failed, delivered, all, or missing: events without a delivery", "failed")
    .option("--events <types>", "event types, separated by commas")
    .option("--dry-run", "only count the events")
    .action((id: string, _options, command: Command) => replay(io, id, all<ReplayOptions>(command)));
  add(
    webhooks,
    "listen",
    "show and verify deliveries as they come, until Ctrl-C",
    "muster webhooks listen --org ID --events device.online,device.offline --forward-to http://localhost:8080/hook",
  )
    .addOption(organization())
    .option("--events <types>", "event types, separated by commas", "*")
    .option("--port <port>", "port of the receiver, on 127.0.0.1", "8499")
    .option(
      "--address <url>",
      "where the deployment reaches that port, such as a tunnel; default http://muster-listen.test:PORT/",
    )
    .option("--cert <file>", "serve HTTPS with this certificate (PEM)")
    .option("--key <file>", "and its private key (PEM)")
    .option("--forward-to <url>", "hand verified deliveries on to an application, and answer what it answers")
    .option("--count <n>", "end after that many deliveries")
    .option("--test", "ask for a test delivery at once")
    .action((_options, command: Command) => listen(io, all<ListenOptions>(command)));
}

/** Own event types of an organization, which have no id: their name is one. */
function addEventTypes(webhooks: Command, io: Io): void {
  const types = webhooks.command("event-types").description("event types of your own, below custom.");
  add(types, "list", "own event types, or those of the platform", "muster webhooks event-types list --org ID")
    .addOption(organization())
    .option("--source <source>", "custom, platform, or posted: those of the platform that only you emit", "custom")
    .action((_options, command: Command) => listEventTypes(io, all<ListTypesOptions>(command)));
  const writing = (name: "create" | "update", method: "POST" | "PATCH", about: string, example: string) =>
    add(types, name, about, `muster webhooks event-types ${name} custom.order_shipped ${example}`)
      .argument("<type>")
      .argument("[fields...]", "description=text, version=text, archived:=true, example:={...}")
      .addOption(organization())
      .option("--schema <file>", "JSON Schema (2020-12) of data")
      .option("--file <file>", "a JSON object to start from; - for standard input")
      .action((type: string, fields: string[], _options, command: Command) =>
        writeEventType(io, method, type, fields, all<TypeOptions>(command)),
      );
  writing("create", "POST", "define an event type", "description='An order has left' --schema order.schema.json");
  writing("update", "PATCH", "change an event type, or archive it", "archived:=true");
}
