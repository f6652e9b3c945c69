// Offline verification of an audit export (docs/operations/audit-verify.md): needs the file and a public key, no server
// and no database.
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { createGunzip } from "node:zlib";
import { messageOf } from "../message-of.ts";
import { type ExportReport, type Finding, loadVerifiers, type Options } from "./export-verifier.ts";

const usage = `Usage: muster-audit verify FILE|FOLDER [--key KEY]… [--deployment NAME] [--json]

Verifies a JSONL export of audit logs (GET /api/v1/audit-logs/export?format=jsonl; also gzipped, or - for standard input),
or an export in parts: a folder with manifest.jsonl.gz and its parts (muster audit export --parts FOLDER).

  --key KEY          verifier key (name+hash+base64), or a file that holds some, one a line. Ask the operator for it, not
                     the file: without --key the keys of the file itself are used, which a forger may have written.
  --deployment NAME  name that checkpoints must bear
  --json             the whole report as JSON

Ends with 0 when everything verifies, 1 when something does not, 2 when it could not be verified at all.
`;

function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 2;
}

type Wanted = { file: string; keys: string[]; deployment: string | null; isJson: boolean };

/** What is asked for; "help", or a sentence about what is wrong. */
function wantedOf(args: string[]): Wanted | "help" | { problem: string } {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        key: { type: "string", multiple: true, default: [] },
        deployment: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    const [command, file, ...rest] = positionals;
    if (values.help) return "help";
    if (command !== "verify" || file === undefined || rest.length > 0) return { problem: "" };
    return { file, keys: values.key, deployment: values.deployment ?? null, isJson: values.json };
  } catch (error) {
    return { problem: `${messageOf(error)}\n\n` };
  }
}

/** `muster-audit`; resolves to the exit code. */
export async function auditProgram(args: readonly string[]): Promise<number> {
  const wanted = wantedOf([...args]);
  if (wanted === "help") {
    process.stdout.write(usage);
    return 0;
  }
  if ("problem" in wanted) return fail(`${wanted.problem}${usage}`);
  return verify(wanted).catch((error: unknown) => fail(`muster-audit: ${messageOf(error)}`));
}

async function verify({ file, keys, deployment, isJson }: Wanted): Promise<number> {
  const options = { keys: keys.flatMap(keysIn), deployment };
  const isFolder = file !== "-" && statSync(file).isDirectory();
  const report = await (isFolder ? reportOfParts(file, options) : reportOfFile(file, options));
  if (isJson) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else print(report);
  return report.ok ? 0 : 1;
}

async function reportOfFile(file: string, options: Options): Promise<ExportReport> {
  const { exportVerifier } = await loadVerifiers();
  const verifier = exportVerifier(options);
  for await (const line of linesOf(file)) verifier.line(line);
  return verifier.end();
}

async function reportOfParts(folder: string, options: Options): Promise<ExportReport> {
  const { verifyParts } = await loadVerifiers();
  const lines = (name: string) => {
    const file = join(folder, `${name}.jsonl.gz`);
    return existsSync(file) ? linesOf(file) : null;
  };
  const part = (number: number) => lines(`part-${String(number).padStart(6, "0")}`);
  return verifyParts({ manifest: lines("manifest"), part }, options);
}

const linesOf = (file: string) => createInterface({ input: inputOf(file), crlfDelay: Number.POSITIVE_INFINITY });

function inputOf(file: string): NodeJS.ReadableStream {
  if (file === "-") return process.stdin;
  const bytes = createReadStream(file);
  if (!file.endsWith(".gz")) return bytes;
  const text = createGunzip();
  return bytes.on("error", (error) => text.destroy(error)).pipe(text);
}

function keysIn(fileOrKey: string): string[] {
  if (!existsSync(fileOrKey)) return [fileOrKey];
  return readFileSync(fileOrKey, "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

function print(report: ExportReport): void {
  const lines: string[] = [];
  for (const key of report.keys) lines.push(`key    ${key}`);
  if (!report.keysGiven)
    lines.push("       taken from the file itself: compare with what the operator says, or pass --key");
  lines.push(
    `export ${report.rows} rows${report.truncated ? ", cut at the export's limit" : ""}, ${signature(report)}`,
  );
  for (const finding of report.file) lines.push(`file   ${textOf(finding)}`);
  for (const { chainId, isSelection, findings } of report.chains) {
    lines.push(`chain  ${chainId}${isSelection ? " (selected rows: missing ones cannot be detected)" : ""}`);
    for (const finding of findings) lines.push(`       ${textOf(finding)}`);
  }
  if (report.isUnverified)
    lines.push("NOT VERIFIED: the file has formats that this version does not know; use the newest muster-audit");
  else lines.push(report.ok ? "OK" : "NOT OK");
  process.stdout.write(`${lines.join("\n")}\n`);
}

function signature({ signedAt }: ExportReport): string {
  return signedAt ? `signed ${signedAt}` : "not signed as a whole";
}

function textOf({ verdict, seq, lastSeq, expected, have, rows, format, reason }: Finding): string {
  const parts = [format === undefined ? verdict : `${verdict}(${format})`];
  if (seq !== undefined) parts.push(lastSeq === undefined ? `row ${seq}` : `rows ${seq}-${lastSeq}`);
  if (expected !== undefined) parts.push(`expected ${expected}, have ${have}`);
  if (rows !== undefined) parts.push(`${rows} rows`);
  if (reason) parts.push(`(${reason})`);
  return parts.join(" ");
}
