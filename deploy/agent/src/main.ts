import { createStopping } from "@muster/agent";
import { versionLine } from "./build-info.ts";
import { configFile, readConfig } from "./config.ts";
import { AgentError, diskError, exitCodes } from "./exit-codes.ts";

const usage = `Usage: muster-agent COMMAND [--config FILE]

  status        whether this machine is online, since when, and what comes next
  logs [-f]     the agent's own log
  doctor        looks for what keeps this machine offline, with the cure of each finding
  enroll        enrolls this machine with a new key (from --key-file FILE, MUSTER_ENROLLMENT_KEY or the terminal)
  bug-report    a report without secrets, on standard output
  verify        --manifest FILE [--root-key KEY] [PROGRAM]: checks a signed manifest and a program

  run           the agent; supervise: the watchdog, which starts it
  --version     version of this program, and whose releases it trusts
`;

/** Commands for people that take --config alone. */
const takesNone = ["status", "doctor", "bug-report"];

/** Runs one command. Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const [command = "", ...rest] = args;
  const at = rest.indexOf("--config");
  const file = (at >= 0 ? rest[at + 1] : process.env.MUSTER_AGENT_CONFIG) ?? configFile();
  if (at >= 0) rest.splice(at, 2);
  const [unknown] = takesNone.includes(command) ? rest : command === "logs" ? rest.filter((arg) => arg !== "-f") : [];
  if (unknown !== undefined) {
    process.stderr.write(`muster-agent: "${unknown}" is no option of ${command}\n\n${usage}`);
    return exitCodes.usage;
  }
  const stopping = createStopping();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stopping.stop());
  // Each command loads its own part alone: the watchdog is small.
  switch (command) {
    case "run":
      return (await import("./run.ts")).run(readConfig(file), stopping);
    case "supervise":
      return (await import("./supervise-command.ts")).superviseCommand(readConfig(file), stopping);
    case "status":
      return (await import("./cli/status.ts")).status(readConfig(file));
    case "logs":
      return (await import("./cli/logs.ts")).logs(readConfig(file), rest, stopping);
    case "doctor":
      return (await import("./cli/doctor.ts")).doctor(file);
    case "enroll":
      return (await import("./cli/enroll.ts")).enroll(readConfig(file), rest);
    case "bug-report":
      return (await import("./cli/bug-report.ts")).bugReport(file);
    case "verify":
      return (await import("./cli/verify.ts")).verify(rest);
    case "machine":
      return (await import("./cli/machine.ts")).machine(rest);
    case "--version":
      process.stdout.write(`${versionLine()}\n`);
      return exitCodes.ok;
    case "--help":
    case "help":
      process.stdout.write(usage);
      return exitCodes.ok;
    default:
      process.stderr.write(command === "" ? usage : `muster-agent: "${command}" is no command\n\n${usage}`);
      return exitCodes.usage;
  }
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (thrown: unknown) => {
    const error = diskError(thrown) ?? thrown;
    const text = error instanceof AgentError ? error.message : String((error as Error).stack ?? error);
    process.stderr.write(`muster-agent: ${text}\n`);
    process.exit(error instanceof AgentError ? error.exitCode : exitCodes.failed);
  },
);
