import { Command } from "commander";
import { type AddOptions, addDevices } from "./commands/add-devices.ts";
import { type BulkOptions, bulkDevices, bulkJob, type JobOptions } from "./commands/bulk-devices.ts";
import { deviceMetrics, type MetricOptions } from "./commands/device-metrics.ts";
import { type LocalOptions, local } from "./commands/local.ts";
import { listProfiles, useProfile } from "./commands/profiles.ts";
import { reviewDevices } from "./commands/review-devices.ts";
import { enrollTotp, login, logout, whoami } from "./commands/session.ts";
import { type PolicyOptions, signInPolicy } from "./commands/sign-in-policy.ts";
import { type StatusOptions, status } from "./commands/status.ts";
import { updateDecision } from "./commands/update-decision.ts";
import { candidates, scripts } from "./completion.ts";
import { runProgram } from "./external.ts";
import { wrongUsage } from "./failure.ts";
import type { Io } from "./io.ts";
import { addActions } from "./program-actions.ts";
import { addAudit } from "./program-audit.ts";
import { addDirectory } from "./program-directory.ts";
import { add, all, ended, organization, time } from "./program-parts.ts";
import { addKeys, addRecords } from "./program-records.ts";
import { addReleases } from "./program-releases.ts";
import { addWebhooks } from "./program-webhooks.ts";
import { version } from "./version.ts";

/** The whole tool: each command with its help, an example and what it does. */
export function programOf(io: Io): Command {
  const program = new Command("muster")
    .description("Muster from the command line: sign in, look, change, verify, listen")
    .version(version, "--version", "the version of this program")
    .option(
      "--url <address>",
      "the deployment; default MUSTER_URL, else that of the newest sign-in, else http://localhost:3000",
    )
    .option("--profile <name>", "a deployment that `login` named; default MUSTER_PROFILE")
    .option("--json", "results as JSON, for pipes")
    .option("--yes", "do not ask; without a terminal, what destroys something or shows a secret needs it")
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      // Reported like other errors, with the place of the help.
      outputError: (text, write) => write(text.replace(/^error: /, "muster: ")),
    })
    .showHelpAfterError("`--help` after the command shows what it takes, with an example.")
    .exitOverride();
  // Settings above go to the commands below, which commander copies them to when they are made.

  addSession(program, io);
  addRecords(program, io);
  addKeys(program, io);
  addAudit(program, io);
  addDirectory(program, io);
  addReleases(program, io);
  addMachines(program, io);
  addWebhooks(program, io);
  addActions(program, io);
  addPrograms(program, io);
  addCompletion(program, io);
  return program;
}

/** Sign-in, sign-out, the caller, what needs attention, and the second factor. */
function addSession(program: Command, io: Io): void {
  add(
    program,
    "login",
    "sign in with a browser and keep the session (mode 0600)",
    "muster login --url https://muster.example.com",
  )
    .option("--no-browser", "print address and code only")
    .option("--name <name>", "what your list of sessions calls this program; default: muster on this machine's name")
    .option("--email <address>", "sign in by password instead; it is asked for, as a code is")
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

  add(
    program,
    "status",
    "what needs attention: what fails, ends soon, or waits for a decision",
    "muster status --org ID",
  )
    .addOption(organization())
    .action((_options, command: Command) => status(io, all<StatusOptions>(command)));

  const profiles = add(program, "profiles", "named deployments, and who is signed in", "muster profiles --json").action(
    (_options, command: Command) => listProfiles(io, all(command)),
  );
  add(profiles, "use", "choose the deployment of commands that name none", "muster profiles use production")
    .argument("<name>")
    .action((name: string) => useProfile(io, name));

  const mfa = program.command("mfa").description("second factors: one's own, and who must have one");
  add(mfa, "enroll", "enroll an authenticator app (TOTP)", "muster mfa enroll > recovery-codes.txt").action(
    (_options, command: Command) => enrollTotp(io, all(command)),
  );
  add(
    mfa,
    "policy",
    "whether an organization, or your own tenant, requires a second factor of its users, or change it",
    "muster mfa policy --org ID --require on",
  )
    .addOption(organization())
    .option("--require <on|off>", "on: users without one can only enroll one")
    .action((_options, command: Command) => signInPolicy(io, all<PolicyOptions>(command)));
}

/** Machines that join. */
function addMachines(program: Command, io: Io): void {
  const devices = program
    .command("devices")
    .description("bring machines online, trust, update and change them, read their logs");
  add(
    devices,
    "add",
    "show the line that installs the agent, with a new key, and name the machines that join",
    "muster devices add --org ID",
  )
    .addOption(organization())
    .option("--site <id>", "the site of the machines")
    .option("--count <n>", "machines that the key is for", "1")
    .option("--wait <seconds>", "how long to wait for them", "600")
    .action((_options, command: Command) => addDevices(io, all<AddOptions>(command)));
  add(devices, "metrics", "history of a device's processor, memory and disk", "muster devices metrics ID --step 5m")
    .argument("<id>")
    .option("--from <time>", "beginning, such as 2026-01-31 or 7d; a day before the end without it", time)
    .option("--to <time>", "end; now without it", time)
    .option("--step <step>", "5m, 15m, 30m, 1h, 6h or 1d", "1h")
    .action((id: string, _options, command: Command) => deviceMetrics(io, id, all<MetricOptions>(command)));
  add(devices, "decision", "why a device updates or does not, and its newest updates", "muster devices decision ID")
    .argument("<id>")
    .action((id: string, _options, command: Command) => updateDecision(io, id, all(command)));
  add(
    devices,
    "review",
    "approve, merge or reject quarantined devices; ids from standard input without any",
    "muster get devices status=quarantined --all --json | jq -r '.[].id' | muster devices review merge --yes",
  )
    .argument("<action>", "approve: trust it; merge: and let it replace the device with its hardware id; reject")
    .argument("[ids...]")
    .action((action: string, ids: string[], _options, command: Command) =>
      reviewDevices(io, action, ids, all(command)),
    );
  addBulk(devices, io);
}

/** Changes of all devices that match. */
function addBulk(devices: Command, io: Io): void {
  add(
    devices,
    "bulk",
    "change the named devices, or all that match filters of `get devices`, and show the progress",
    "muster devices bulk update ID ID ID --site SITE",
  )
    .argument("<action>", "update, decommission, approve, merge or reject")
    .argument("[ids-or-filters...]", "ids, or filters such as status=offline seenBefore=30d")
    .addOption(organization())
    .option("--site <id>", "of an update: their new site; `none` for none")
    .option("--auto-update <on|off>", "of an update: whether their agents update themselves")
    .action((action: string, filters: string[], _options, command: Command) =>
      bulkDevices(io, action, filters, all<BulkOptions>(command)),
    );
  add(devices, "job", "progress of a bulk job", "muster devices job ID --cancel")
    .argument("<id>")
    .option("--cancel", "change no further device")
    .action((id: string, _options, command: Command) => bulkJob(io, id, all<JobOptions>(command)));
}

/** Programs that run on this machine; the others parse their own arguments. */
function addPrograms(program: Command, io: Io): void {
  add(program, "local", "start a whole cluster on this machine, until Ctrl-C", "muster local --port 3100")
    .option("--data <folder>", "folder of the server and its data")
    .option("--port <port>", "port of the console and the API (3000)")
    .option("--reset", "remove the data first")
    .option("--server <file>", "the server's package as a file, without a registry")
    .action((_options, command: Command) => local(io, all<LocalOptions>(command)).then(ended));
  const about = "make and check manifests of agent releases, offline";
  add(program, "release", about, "muster release verify --key PUBLIC agent.manifest muster-agent-linux-amd64")
    .argument("[key|manifest|verify]", "`muster release` alone lists them")
    .argument("[arguments...]")
    .action(() => runProgram("release", []).then(ended));
  add(program, "cluster", "keys of a cluster: keys DIR and, from a checkout, reencrypt", "muster cluster keys ./keys")
    .argument("[keys|reencrypt]")
    .argument("[arguments...]")
    .action((_name, _args, _options, command: Command) => command.help({ error: true }));
}

function addCompletion(program: Command, io: Io): void {
  add(
    program,
    "completion",
    "print the script that completes commands: bash, zsh or fish",
    "source <(muster completion bash)",
  )
    .argument("<shell>")
    .action((shell: string) => {
      const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
      if (script === undefined) throw wrongUsage(`no completion for ${shell}: bash, zsh or fish`);
      io.stdout.write(script);
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
}
