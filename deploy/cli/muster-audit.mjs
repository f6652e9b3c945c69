#!/usr/bin/env node
// Offline verification of an audit export (docs/operations/audit-verify.md): needs the file and a public key, no server
// and no database.
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { createGunzip } from "node:zlib";

const usage = `Usage: muster-audit verify FILE [--key KEY]… [--deployment NAME] [--json]

Verifies a JSONL export of audit logs (GET /api/v1/audit-logs/export?format=jsonl; also gzipped, or - for standard input).

  --key KEY          verifier key (name+hash+base64), or a file that holds some, one a line. Ask the operator for it, not
                     the file: without --key the keys of the file itself are used, which a forger may have written.
  --deployment NAME  name that checkpoints must bear
  --json             the whole report as JSON

Ends with 0 when everything verifies, 1 when something does not, 2 when it could not be verified at all.
`;

const compiled = new URL("../../services/audit/dist/offline/verify-export.js", import.meta.url);

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 2;
}

function argumentsOf() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        key: { type: "string", multiple: true, default: [] },
        deployment: { type: "string" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    return { problem: error.message };
  }
}

const { values, positionals = [], problem } = argumentsOf();
const [command, file, ...rest] = positionals;
if (values?.help) process.stdout.write(usage);
else if (problem || command !== "verify" || !file || rest.length > 0) fail(problem ? `${problem}\n\n${usage}` : usage);
else if (!existsSync(compiled)) fail("muster-audit is not built yet: run `npm run build` in the repository first.");
else {
  try {
    await verify();
  } catch (error) {
    fail(`muster-audit: ${error.message}`);
  }
}

async function verify() {
  const { exportVerifier } = await import(compiled.href);
  const verifier = exportVerifier({ keys: values.key.flatMap(keysIn), deployment: values.deployment ?? null });
  let input = file === "-" ? process.stdin : createReadStream(file);
  if (file.endsWith(".gz")) input = input.on("error", (error) => input.destroy(error)).pipe(createGunzip());
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) verifier.line(line);
  const report = verifier.end();
  if (values.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else print(report);
  process.exitCode = report.ok ? 0 : 1;
}

/** @param {string} given */
function keysIn(fileOrKey) {
  if (!existsSync(fileOrKey)) return [fileOrKey];
  return readFileSync(fileOrKey, "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

function print(report) {
  const lines = [];
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

function signature({ signedAt }) {
  return signedAt ? `signed ${signedAt}` : "not signed as a whole";
}

function textOf({ verdict, seq, lastSeq, expected, have, rows, format, reason }) {
  const parts = [format === undefined ? verdict : `${verdict}(${format})`];
  if (seq !== undefined) parts.push(lastSeq === undefined ? `row ${seq}` : `rows ${seq}-${lastSeq}`);
  if (expected !== undefined) parts.push(`expected ${expected}, have ${have}`);
  if (rows !== undefined) parts.push(`${rows} rows`);
  if (reason) parts.push(`(${reason})`);
  return parts.join(" ");
}
