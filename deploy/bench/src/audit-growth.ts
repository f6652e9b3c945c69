import { generateNkey } from "@muster/bus";
import { ReportKind } from "@muster/proto/muster/audit/v1/report_pb";
import { callers } from "@muster/testing";
import { fillLists } from "./audit-fill.ts";
import { type AuditProcess, startAudit, withAuditDatabase } from "./audit-service.ts";
import type { Report } from "./report.ts";

const repeats = 15;
const patienceMs = 8_000;
const mostAround = 1_000_000;
const listMs = 50;
/** Their time may not depend on the size. */
const lists = ["list, first page", "list, first page with total", "list, action, every tenth row", "search, frequent"];

/**
 * `npm run bench -- audit-growth [sizes]`: what lists, searches, reports and exports cost as one organization grows
 * (10000,100000,1000000,5000000), as many rows around it, a million at most. The rows are inserted directly, not
 * sealed: `audit-verify` takes sizes, too.
 */
export async function run([sizes = "10000,100000,1000000,5000000"]: string[], report: Report): Promise<void> {
  const columns: Record<string, Record<string, string>> = {};
  for (const size of sizes.split(",").map(Number)) {
    await withAuditDatabase(async (database) => {
      const { partnerId, hotOrgId } = await fillLists(database, size, Math.min(size, mostAround));
      const audit = await startAudit(database, { url: "nats://127.0.0.1:1", seed: generateNkey().seed });
      try {
        for (const [label, call] of callsOf(audit, partnerId, hotOrgId)) {
          columns[label] ??= {};
          columns[label][`${size.toLocaleString("en-US")} rows, p50 ms`] = await median(call);
        }
        const { rss } = await audit.usage();
        columns["RSS MB of the service afterwards"] ??= {};
        columns["RSS MB of the service afterwards"][`${size.toLocaleString("en-US")} rows, p50 ms`] = String(
          Math.round(rss / 1_048_576),
        );
      } finally {
        await audit.stop();
      }
    });
  }
  console.table(columns);
  const slowest = lists.map((label) => Math.max(...Object.values(columns[label] ?? {}).map(Number)));
  report.atMost("slowest list at any size, p50", Math.max(...slowest), "ms", listMs);
  for (const [label, column] of Object.entries(columns)) {
    report.also(
      `${label}, at most`,
      Math.max(...Object.values(column).map(Number)),
      label.startsWith("RSS") ? "MB" : "ms",
    );
  }
}

function callsOf(audit: AuditProcess, partnerId: string, orgId: string): [string, () => Promise<unknown>][] {
  const permissions = ["audit:read", "audit:export"];
  const org = callers.orgAdmin(partnerId, orgId, { permissions });
  const page = { page: 1, limit: 50, skipCount: true };
  return [
    ["list, first page", () => audit.listLogs(org, { page })],
    ["list, first page with total", () => audit.listLogs(org, { page: { ...page, skipCount: false } })],
    ["list, action, every tenth row", () => audit.listLogs(org, { page, action: "device.update" })],
    ["search, frequent", () => audit.listLogs(org, { page, query: "device-42" })],
    ["search, nothing found (bounded by 2 s)", () => audit.listLogs(org, { page, query: "no such text" })],
    ["export, newest 10,000", () => audit.exportLogs(org, {})],
    ["export, search, every fiftieth row", () => audit.exportLogs(org, { user: "person-7@" })],
    ["report, categories of 30 days", () => audit.report(org, { kind: ReportKind.CATEGORIES })],
  ];
}

async function median(call: () => Promise<unknown>): Promise<string> {
  await call();
  const ms: number[] = [];
  const endMs = performance.now() + patienceMs;
  while (ms.length < repeats && (ms.length === 0 || performance.now() < endMs)) {
    const startedMs = performance.now();
    await call();
    ms.push(performance.now() - startedMs);
  }
  ms.sort((a, b) => a - b);
  return (ms[ms.length >> 1] ?? 0).toFixed(1);
}
