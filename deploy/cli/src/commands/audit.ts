import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { type AuditVerdict, type components, isProblem, isUnverified, verdictName, verdictText } from "@muster/client";
import { connect } from "../connection.ts";
import { done, exits, Failure, streamOf } from "../failure.ts";
import type { Globals, Io } from "../io.ts";
import { visible } from "../table.ts";
import { replyOf } from "./records.ts";

type Verification = components["schemas"]["AuditVerification"];

const pollMs = 250;

/** Has the API verify a chain, waits for the verdicts and fails when one of them is a problem. */
export async function verifyChain(io: Io, options: Globals & { org?: string; from?: string }): Promise<void> {
  const { muster } = connect(io, options);
  const body = {
    ...(options.org ? { orgId: options.org } : {}),
    ...(options.from ? { from: Number(options.from) } : {}),
  };
  let job: Verification = await done(muster.POST("/api/v1/audit-logs/verify", { body }));
  while (job.status === "queued" || job.status === "running") {
    await sleep(pollMs);
    job = await done(muster.GET("/api/v1/audit-logs/verify/{id}", { params: { path: { id: job.id } } }));
  }
  const problems = job.verdicts.filter(isProblem);
  const isSound = job.status === "done" && problems.length === 0;
  const isUnknown = !isSound && job.more === 0 && problems.every(isUnverified);
  const result = isSound ? "OK" : isUnknown ? "NOT VERIFIED" : "NOT OK";
  if (options.json) io.stdout.write(`${JSON.stringify(job, null, 2)}\n`);
  else {
    const lines = job.verdicts.map(lineOf);
    const more = job.more > 0 ? [`and ${job.more} more`] : [];
    io.stdout.write(`${[`chain ${job.chainId}, ${job.rows} rows`, ...lines, ...more, result].join("\n")}\n`);
  }
  if (job.status === "failed") throw new Failure(exits.unavailable, "the verification could not be finished");
  if (isUnknown) throw new Failure(exits.failed, "the chain has rows of a format that the deployment does not know");
  if (!isSound) throw new Failure(exits.failed, "the chain does not verify");
}

/** docs/operations/audit-verify.md, "Verdicts". */
const lineOf = (verdict: AuditVerdict) => `  ${verdictName(verdict)} ${visible(verdictText(verdict))}`;

export type ExportOptions = Globals & {
  org?: string;
  output?: string;
  format: string;
  filters: Readonly<Record<string, string>>;
};

/** Writes an export as it streams: signed JSON lines that `muster audit verify FILE` checks, or CSV. */
export async function exportLogs(io: Io, options: ExportOptions): Promise<void> {
  const { muster } = connect(io, options);
  const query = { ...(options.org ? { orgId: options.org } : {}), ...options.filters, format: options.format };
  const reply = replyOf(muster, "GET", "/api/v1/audit-logs/export", { params: { query }, parseAs: "stream" });
  const { source, headers } = await streamOf(reply);
  if (options.output) await pipeline(source, createWriteStream(options.output, { mode: 0o600 }));
  else await pipeline(source, io.stdout, { end: false });
  if (headers.get("x-export-truncated") === "true") {
    const text = "the export was cut at its limit: --parts FOLDER exports every row";
    throw new Failure(exits.failed, text);
  }
}
