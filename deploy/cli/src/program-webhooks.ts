import type { Command } from "commander";
import { type ListenOptions, listen } from "./commands/listen.ts";
import { type ReplayOptions, replay, resend } from "./commands/webhooks.ts";
import type { Io } from "./io.ts";
import { add, all, organization } from "./program-parts.ts";

/** `webhooks listen`, `webhooks resend` and `webhooks replay`. */
export function addWebhooks(program: Command, io: Io): void {
  const webhooks = program.command("webhooks").description("receive webhooks on this machine, and send again");
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
    .requiredOption("--since <time>", "from this time on")
    .option("--until <time>", "before this time")
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
