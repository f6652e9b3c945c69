import { Command, Option } from "commander";
import { type ExportOptions, exportLogs, verifyChain } from "./commands/audit.ts";
import { type ListenOptions, listen } from "./commands/listen.ts";
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
import { enrollTotp, login, logout, whoami } from "./commands/session.ts";
import { candidates, scripts } from "./completion.ts";
import { runProgram } from "./external.ts";
import { Failure, wrongUsage } from "./failure.ts";
import type { Globals, Io } from "./io.ts";
import { namesFor } from "./resources.ts";

const organization = () => new Option("--org <id>", "the organization that it is about");

/** The whole tool: each command with its help, an example and what it does. */
export function programOf(io: Io): Command {
  const program = new Command("muster")
    .description("Muster from the command line: sign in, look, change, verify, listen")
    .option(
      "--url <address>",
      "the deployment; default MUSTER_URL, else that of the newest sign-in, else http://localhost:3000",
    )
    .option("--json", "results as JSON, for pipes")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: (text) => io.stderr.write(text) })
    .exitOverride();
  // Settings above go to the commands below, which commander copies them to when they are made.
  const add = (parent: Command, signature: string, description: string, example: string) =>
    parent.command(signature).description(description).addHelpText("after", `\nExample:\n  $ ${example}`);
  const all = <T extends Globals>(command: Command) => command.optsWithGlobals<T>();

  add(
    program,
    "login",
    "sign in and keep the session (mode 0600)",
    "muster login --email ada@example.com --url https://muster.example.com",
  )
    .option("--email <address>", "who signs in; asked for without it, as password and code are")
    .action((_options, command: Command) => login(io, all(command)));
  add(program, "logout", "end the kept session everywhere", "muster logout").action((_options, command: Command) =>
    logout(io, all(command)),
  );
  add(
    program,
    "whoami",
    "the caller: a person or, with MUSTER_API_KEY, a key",
    "muster whoami --json | jq -r .orgId",
  ).action((_options, command: Command) => whoami(io, all(command)));

  const mfa = program.command("mfa").description("the second factor of the signed-in person");
  add(mfa, "enroll", "enroll an authenticator app (TOTP)", "muster mfa enroll > recovery-codes.txt").action(
    (_options, command: Command) => enrollTotp(io, all(command)),
  );

  addRecords(program);
  addKeys(program);
  addAudit(program);

  const webhooks = program.command("webhooks").description("receive webhooks on this machine");
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

  const about = "make and check manifests of agent releases, offline";
  add(program, "release", about, "muster release verify --key PUBLIC agent.manifest muster-agent-linux-amd64")
    .argument("[key|manifest|verify]", "`muster release` alone lists them")
    .argument("[arguments...]")
    .action(() => runProgram("release", []).then(ended));
  add(program, "cluster", "keys of a cluster, from a checkout: keys DIR, reencrypt", "muster cluster keys ./keys")
    .argument("[keys|reencrypt]")
    .argument("[arguments...]")
    .action((_name, _args, _options, command: Command) => command.help({ error: true }));

  add(
    program,
    "completion",
    "print the script that completes commands: bash or zsh",
    "source <(muster completion bash)",
  )
    .argument("<shell>")
    .action((shell: string) => {
      if (!Object.hasOwn(scripts, shell)) throw wrongUsage(`no completion for ${shell}: bash or zsh`);
      io.stdout.write(scripts[shell] as string);
    });
  program
    .command("__complete", { hidden: true })
    .argument("[words...]")
    .action((words: string[]) => {
      io.stdout.write(
        candidates(program, words.length > 0 ? words : [""])
          .map((word) => `${word}\n`)
          .join(""),
      );
    });
  return program;

  function addRecords(parent: Command) {
    const known = (names: readonly string[]) => `one of: ${names.join(", ")}`;
    add(parent, "get", "rows of a list, or one record", "muster get devices status=offline --limit 20")
      .argument("<resource>", known(namesFor("list")))
      .argument("[id-or-filters...]", "an id, or filters such as status=offline")
      .addOption(organization())
      .option("--of <id>", "the record that the rows belong to, such as the webhook of deliveries")
      .option("--limit <n>", "rows at most", "50")
      .option("--all", "every row")
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
      .argument("<resource>", known(namesFor("create")))
      .argument("[fields...]", "name=text, count:=5 (JSON), scopes[]=devices:read (an item each), contact.email=text")
      .addOption(organization())
      .option("--file <file>", "a JSON object to start from; - for standard input")
      .action((resource: string, fields: string[], _options, command: Command) =>
        create(io, resource, fields, all<BodyOptions>(command)),
      );
    add(parent, "update", "change fields of a record", "muster update devices ID autoUpdateEnabled:=false")
      .argument("<resource>", known(namesFor("update")))
      .argument("<id>")
      .argument("[fields...]", "as for create")
      .option("--file <file>", "a JSON object to start from; - for standard input")
      .action((resource: string, id: string, fields: string[], _options, command: Command) =>
        update(io, resource, id, fields, all<BodyOptions>(command)),
      );
    add(
      parent,
      "delete",
      "delete a record; an API key is revoked, a device decommissioned",
      "muster delete webhooks ID",
    )
      .argument("<resource>", known(namesFor("delete")))
      .argument("<id>")
      .action((resource: string, id: string, _options, command: Command) => remove(io, resource, id, all(command)));
  }

  function addKeys(parent: Command) {
    const keys = parent.command("keys").description("rotate keys, and check what looks like one");
    add(
      keys,
      "rotate",
      "replace the secret of a key; the new one is shown once",
      "muster keys rotate ID --grace 300 --json | jq -r .key",
    )
      .argument("<id>")
      .option("--kind <kind>", "what the id names: api, principal or enrollment", "api")
      .option("--grace <seconds>", "how long the old secret of an API key goes on")
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

  function addAudit(parent: Command) {
    const audit = parent.command("audit").description("verify and export the audit trail");
    add(
      audit,
      "verify",
      "verify a chain at the API or, with a file, an export offline",
      "muster audit verify export.jsonl --key 'muster-audit-1a2b3c+4d5e6f70+AR…'",
    )
      .argument("[file]", "a JSONL export, also gzipped; - for standard input")
      .addOption(organization())
      .option("--from <seq>", "first row to verify at the API")
      .option("--key <key...>", "verifier key of the deployment, or a file of some, for an export")
      .option("--deployment <name>", "name that the checkpoints of an export must bear")
      .action((file: string | undefined, _options, command: Command) => {
        const options = all<Globals & { org?: string; from?: string; key?: string[]; deployment?: string }>(command);
        if (file === undefined) return verifyChain(io, options);
        const keys = (options.key ?? []).flatMap((key) => ["--key", key]);
        const name = options.deployment === undefined ? [] : ["--deployment", options.deployment];
        return runProgram("audit", ["verify", file, ...keys, ...name, ...(options.json ? ["--json"] : [])]).then(ended);
      });
    add(
      audit,
      "export",
      "write signed JSON lines, which `muster audit verify FILE` checks, or CSV",
      "muster audit export --org ID --output export.jsonl",
    )
      .addOption(organization())
      .addOption(new Option("--format <format>", "jsonl or csv").choices(["jsonl", "csv"]).default("jsonl"))
      .option("--output <file>", "a file (mode 0600) instead of standard output")
      .action((_options, command: Command) => exportLogs(io, all<ExportOptions>(command)));
  }
}

/** A program that was run has said by itself what was wrong. */
function ended(code: number): void {
  if (code !== 0) throw new Failure(code, "");
}
