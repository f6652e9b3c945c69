import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { generateNkey } from "@muster/bus";
import type { Caller } from "@muster/kit";
import { callers } from "@muster/testing";
import { type Fleet, fillLists, yearMs } from "./audit-fill.ts";
import { type AuditProcess, startAudit, withAuditDatabase } from "./audit-service.ts";
import type { Report } from "./report.ts";

const dayMs = 86_400_000;
const requests = 200;
const longestMs = 6_000;

/** `limitMs`: the longest p99. A search that finds nothing is bounded by the time limit of its statement. */
type Row = { label: string; limitMs: number | null; call: (n: number) => Promise<{ answered: string }> };
type Result = { label: string; limitMs: number | null; ms: number[]; answered: string };

/**
 * `npm run bench -- audit-lists [rows]`: lists over RPC with `rows` rows (1,000,000) in one organization and as many
 * around it.
 */
export async function run([rows = "1000000"]: string[], report: Report): Promise<void> {
  await withAuditDatabase(async (database) => {
    const startedMs = performance.now();
    const fleet = await fillLists(database, Number(rows));
    process.stderr.write(`filled in ${Math.round((performance.now() - startedMs) / 1000)} s\n`);
    // No server listens there: this process only reads.
    const audit = await startAudit(database, { url: "nats://127.0.0.1:1", seed: generateNkey().seed });
    try {
      const results: Result[] = [];
      for (const row of await rowsOf(audit, fleet)) results.push(await measure(row));
      print(results, report);
    } finally {
      await audit.stop();
    }
  });
}

async function rowsOf(audit: AuditProcess, fleet: Fleet): Promise<Row[]> {
  const { partnerId, hotOrgId, orgIds } = fleet;
  const org = callers.orgAdmin(partnerId, hotOrgId);
  const partner = callers.partnerAdmin(partnerId);
  const some = callers.partnerWithList(partnerId, orgIds);
  const system = callers.platformAdmin();
  const page = { page: 1, limit: 50, skipCount: true };
  const day = (n: number) => {
    const at = Date.now() - yearMs + ((n * 7919) % 364) * dayMs;
    return { from: timestampFromDate(new Date(at)), to: timestampFromDate(new Date(at + dayMs)) };
  };
  const deep = await audit.listLogs(org, { page: { ...page, page: 10_000 } });
  const first = await audit.listLogs(org, { page });
  const ids = first.logs.map(({ id }) => id);
  const [oldest] = (await audit.listLogs(org, { page: { ...page, page: 19_999 } })).logs;
  const list = (
    label: string,
    caller: Caller,
    request: (n: number) => Parameters<AuditProcess["listLogs"]>[1],
    limitMs: number | null = null,
  ) => ({
    label,
    limitMs,
    call: async (n: number) => {
      const { logs, page: shown, searchedTo } = await audit.listLogs(caller, request(n));
      const total = shown?.total === undefined ? "" : ` of ${shown.totalIsEstimate ? "~" : ""}${shown.total}`;
      return { answered: `${logs.length}${total}${searchedTo ? ", in part" : ""}` };
    },
  });
  const counted = { ...page, skipCount: false };
  return [
    list("first page", org, () => ({ page }), 20),
    list("first page with total", org, () => ({ page: counted }), 20),
    list("page of a day", org, (n) => ({ page, ...day(n) }), 20),
    list("page of a day with total", org, (n) => ({ page: counted, ...day(n) })),
    list("page of half a year with total", org, (n) => ({ page: counted, from: day(n % 180).from })),
    list("cursor at depth 500,000", org, () => ({ page: { ...page, cursor: deep.page?.nextCursor ?? "" } }), 20),
    list("page 10,000 (OFFSET 499,950)", org, () => ({ page: { ...page, page: 10_000 } })),
    list("action, rare, with total", org, () => ({ page: counted, action: "site.delete" }), 50),
    list("action, every tenth", org, () => ({ page, action: "device.update" }), 50),
    list("action, every tenth, with total", org, () => ({ page: counted, action: "device.update" })),
    list("excludeActions", org, () => ({ page, excludeActions: ["user.login"] })),
    list("one record, with total", org, () => ({ page: counted, resourceId: oldest?.resourceId ?? "" }), 20),
    list("user contains, frequent", org, () => ({ page, user: "person-7@" })),
    list("user contains, 3 rows", org, () => ({ page, user: "rare@" })),
    list("search, frequent", org, () => ({ page, query: "device-42" })),
    list("search, nothing", org, () => ({ page, query: "no such text" })),
    list("search, frequent, with total", org, () => ({ page: counted, query: "device-42" })),
    {
      label: "one row by id",
      limitMs: null,
      call: async (n) => ({ answered: (await audit.getLog(org, ids[n % ids.length] as string)) ? "1" : "0" }),
    },
    list("partner, all organizations", partner, () => ({ page }), 20),
    list("partner, list of 100", some, () => ({ page })),
    list("partner, list of 100, page of a day", some, (n) => ({ page, ...day(n) })),
    list("system, everything", system, () => ({ page }), 20),
    list("system, page of a day", system, (n) => ({ page, ...day(n) }), 20),
    list("system, user contains, frequent", system, () => ({ page, user: "person-7@" })),
  ];
}

/** One after the other, after three that warm up. */
async function measure({ label, limitMs, call }: Row): Promise<Result> {
  const ms: number[] = [];
  let answered = "";
  for (let n = 0; n < 3; n++) await call(n);
  const endMs = performance.now() + longestMs;
  for (let n = 0; n < requests && performance.now() < endMs; n++) {
    const startedMs = performance.now();
    ({ answered } = await call(n));
    ms.push(performance.now() - startedMs);
  }
  return { label, limitMs, answered, ms: ms.sort((a, b) => a - b) };
}

function print(results: readonly Result[], report: Report): void {
  const at = (ms: readonly number[], share: number) =>
    (ms[Math.min(ms.length - 1, Math.floor(ms.length * share))] ?? 0).toFixed(1);
  const table = results.map(({ label, ms, answered }) => ({
    list: label,
    answered,
    calls: ms.length,
    "p50 ms": at(ms, 0.5),
    "p95 ms": at(ms, 0.95),
    "p99 ms": at(ms, 0.99),
  }));
  console.table(table);
  for (const { label, limitMs, ms } of results) {
    const p99 = Number(at(ms, 0.99));
    if (limitMs === null) report.also(`${label}, p99`, p99, "ms");
    else report.atMost(`${label}, p99`, p99, "ms", limitMs);
  }
}
