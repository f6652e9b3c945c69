import { type Command, Option } from "commander";
import { type ExportOptions, exportLogs, verifyChain } from "./commands/audit.ts";
import { type AppendOptions, appendEvents } from "./commands/audit-append.ts";
import { exportParts, type PartsOptions } from "./commands/audit-parts.ts";
import { testStream } from "./commands/audit-streams.ts";
import { type RetentionOptions, retention } from "./commands/retention.ts";
import { runProgram } from "./external.ts";
import { wrongUsage } from "./failure.ts";
import { idAndFilters } from "./fields.ts";
import type { Globals, Io } from "./io.ts";
import { add, all, ended, organization, time } from "./program-parts.ts";
import { resourceOf } from "./resources.ts";

type WantedExport = ExportOptions & Partial<PartsOptions> & { from?: string; to?: string };

/** An export as one file, or in parts; an option that would not count is refused. */
function exportRows(io: Io, args: readonly string[], options: WantedExport): Promise<void> {
  const allowed = resourceOf("audit-logs", "list").filters.filter((name) => name !== "q");
  const { id, filters: named } = idAndFilters(args, allowed);
  if (id !== null) throw wrongUsage(`"${id}" is no filter: NAME=VALUE`);
  const { parts, resume, from, to } = options;
  const filters = { ...named, ...(from ? { from } : {}), ...(to ? { to } : {}) };
  if (parts === undefined) {
    const idle = (["resume", "key", "deployment"] as const).find((name) => options[name] !== undefined);
    if (idle) throw wrongUsage(`--${idle} goes with --parts FOLDER`);
    return exportLogs(io, { ...options, filters });
  }
  if (options.output !== undefined || options.format !== "jsonl") {
    throw wrongUsage("parts are JSON lines in a folder: leave --output and --format out");
  }
  if (resume !== undefined && Object.keys(filters).length > 0) throw wrongUsage("a resumed export has its filters");
  return exportParts(io, { ...options, parts, filters });
}

/** `audit verify`, `export`, `retention`, `append` and `test-stream`; streams and alerts are records of `create`. */
export function addAudit(parent: Command, io: Io) {
  const audit = parent
    .command("audit")
    .description("verify, export, count and keep the audit trail, append to it, test streams");
  add(
    audit,
    "verify",
    "verify a chain at the API or, with a file, an export offline",
    "muster audit verify export.jsonl --key 'muster-audit-1a2b3c+4d5e6f70+AR…'",
  )
    .argument("[file]", "a JSONL export, also gzipped, or the folder of one in parts; - for standard input")
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
    "muster audit export --org ID from=2026-01-01 result=denied --output refused.jsonl",
  )
    .argument("[filters...]", "NAME=VALUE, as of `get audit-logs`")
    .addOption(organization())
    .addOption(new Option("--format <format>", "jsonl or csv").choices(["jsonl", "csv"]).default("jsonl"))
    .option("--output <file>", "a file (mode 0600) instead of standard output")
    .option("--parts <folder>", "every row of the chain, in parts of 10,000 into a folder, which are verified")
    .option("--resume <id>", "with --parts: continue reading an export")
    .option("--from <time>", "rows from then on, such as 2026-01-01 or 90d; the same as from=TIME", time)
    .option("--to <time>", "rows until then; the same as to=TIME", time)
    .option("--key <key...>", "with --parts: verifier key of the deployment, or a file of some")
    .option("--deployment <name>", "with --parts: name that its notes must bear")
    .action((args: string[], _options, command: Command) => exportRows(io, args, all<WantedExport>(command)));
  add(audit, "retention", "how long audit rows are kept, or change it", "muster audit retention --org ID --days 400")
    .addOption(organization())
    .option("--days <n>", "1 to 3650; a shorter time takes effect after 24 hours")
    .option("--archive <on|off>", "whether rows are archived before they are deleted")
    .action((_options, command: Command) => retention(io, all<RetentionOptions>(command)));
  add(
    audit,
    "append",
    "append own events, a JSON object a line; from standard input without a file",
    "muster audit append --org ID events.jsonl",
  )
    .argument("[file]", "JSON lines as the API describes them", "-")
    .addOption(organization())
    .action((file: string, _options, command: Command) => appendEvents(io, file, all<AppendOptions>(command)));
  add(
    audit,
    "test-stream",
    "send a stream's newest row once more and show what its sink answers",
    "muster audit test-stream ID",
  )
    .argument("<id>", "of `muster get audit-streams`")
    .action((id: string, _options, command: Command) => testStream(io, id, all(command)));
}
