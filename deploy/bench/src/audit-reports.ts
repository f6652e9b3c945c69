import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { generateNkey } from "@muster/bus";
import { openDatabase, sql } from "@muster/db";
import { createLogger } from "@muster/kit";
import { ReportKind } from "@muster/proto/muster/audit/v1/report_pb";
import { callers } from "@muster/testing";
import { fillLists, yearMs } from "./audit-fill.ts";
import { startAudit, withAuditDatabase } from "./audit-service.ts";
import type { Report } from "./report.ts";

const repeats = 10;
/** A report is read in slices of time, each by a statement that may not take longer. */
const statementMs = 2_000;

/**
 * `npm run bench -- audit-reports [rows]`: reports over a year with `rows` rows (1,000,000) in one organization and as
 * many around it.
 */
export async function run([rows = "1000000"]: string[], report: Report): Promise<void> {
  await withAuditDatabase(async (database) => {
    const { partnerId, hotOrgId } = await fillLists(database, Number(rows));
    const log = createLogger("bench", "fatal");
    const owner = openDatabase({ url: database.ownerUrl, max: 1, name: "bench", log });
    // As autovacuum leaves tables that rows are only added to.
    const parts = await owner.read<{ part: string }>(
      { caller: null },
      sql`SELECT relname AS part FROM pg_class WHERE relispartition AND relkind = 'r' AND relname LIKE 'audit_log_%'`,
    );
    const startMs = Date.now() - yearMs;
    const [stored] = await owner.read<{ rows: number }>(
      { caller: null },
      sql`SELECT count(*) AS rows FROM audit_log WHERE chain_id = ${hotOrgId} AND timestamp >= ${new Date(startMs).toISOString()}`,
    );
    await owner.close();
    await vacuum(
      database.ownerUrl,
      parts.map(({ part }) => part),
    );
    const audit = await startAudit(database, { url: "nats://127.0.0.1:1", seed: generateNkey().seed });
    try {
      const year = { from: timestampFromDate(new Date(startMs)) };
      const day = { from: timestampFromDate(new Date(Date.now() - 86_400_000)) };
      const [org, partner] = [callers.orgAdmin(partnerId, hotOrgId), callers.partnerAdmin(partnerId)];
      const table = [];
      for (const report of ["CATEGORIES", "USER_ACTIVITY", "SECURITY_EVENTS", "COMPLIANCE"] as const) {
        for (const [span, request, caller] of [
          ["a year of 1 organization", year, org],
          ["30 days of 1 organization", {}, org],
          ["a day of 1 organization", day, org],
          ["30 days of 100 organizations", {}, partner],
        ] as const) {
          const ms: number[] = [];
          let counted = "";
          for (let n = 0; n < repeats; n++) {
            const startedMs = performance.now();
            try {
              const reply = await audit.report(caller, { ...request, kind: ReportKind[report] });
              counted = String(reply.counts?.total);
            } catch (error) {
              counted = (error as Error).message;
            }
            ms.push(performance.now() - startedMs);
          }
          ms.sort((a, b) => a - b);
          const [p50, most] = [ms[repeats >> 1] ?? 0, ms.at(-1) ?? 0];
          table.push({
            report,
            span,
            rows: counted,
            "p50 ms": Math.round(p50),
            "max ms": Math.round(most),
          });
        }
      }
      console.table(table);
      report.atMost("slowest report, p50", Math.max(...table.map((row) => row["p50 ms"])), "ms", statementMs);
      for (const row of table) report.also(`${row.report}, ${row.span}`, row["p50 ms"], "ms");
      const wholeYear = table.find(({ report, span }) => report === "CATEGORIES" && span.startsWith("a year"));
      if (Number(wholeYear?.rows) !== Number(stored?.rows))
        throw new Error(`${wholeYear?.rows} rows reported of ${stored?.rows}`);
    } finally {
      await audit.stop();
    }
  });
}

async function vacuum(url: string, parts: readonly string[]): Promise<void> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const part of parts) await client.query(`VACUUM (ANALYZE) audit.${client.escapeIdentifier(part)}`);
  } finally {
    await client.end();
  }
}
