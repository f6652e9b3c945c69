import { openDatabase } from "@muster/db";
import { createLogger, uuidv7 } from "@muster/kit";
import type { TestDatabase } from "@muster/testing";
import { loadAudit } from "./audit-modules.ts";
import { eventOf, messageOf } from "./audit-seal.ts";
import { withAuditDatabase } from "./audit-service.ts";
import type { Report } from "./report.ts";

const sealRows = 2_000;
const leastPerSecond = 25_000;

type Tenant = { orgId: string; partnerId: string };

/** What the bench borrows from the service: sealing without a bus, and verification as its job runs it. */
export type Service = { sealMessages(deps: object, batch: readonly object[]): Promise<void> };
type Verifying = Service & {
  startVerifying(deps: object, chainId: string, from: number | null): Promise<{ v: { rows: number } }>;
  verifyPage(deps: object, cursor: object): Promise<{ verdict: string }[] | null>;
};

/**
 * `npm run bench -- audit-verify [rows …]`: verifies one chain per number of rows (10,000, 100,000 and 1,000,000 by
 * default).
 */
export async function run(args: string[], report: Report): Promise<void> {
  const sizes = (args.length > 0 ? args : ["10000", "100000", "1000000"]).map(Number).sort((a, b) => a - b);
  const service = (await loadAudit("events/sealer", "store/verify-chain")) as Verifying;
  const table: Record<string, string | number>[] = [];
  await withAuditDatabase(async (database) => {
    const [orgId, partnerId] = [uuidv7(), uuidv7()];
    let sealed = 0;
    for (const size of sizes) {
      await seal(service, database, { orgId, partnerId }, size - sealed);
      sealed = size;
      const rows = size.toLocaleString("en-US");
      const measured = await verify(service, database, orgId);
      report.atLeast(`verified of ${rows} rows`, measured.perSecond, "rows/s", leastPerSecond);
      report.also(`verifier's CPU at ${rows} rows`, measured.cpuUs, "µs a row");
      table.push({
        rows,
        "verified rows/s": Math.round(measured.perSecond).toLocaleString("en-US"),
        "CPU µs/row": measured.cpuUs.toFixed(1),
        "state bytes": measured.stateBytes,
        "heap MB": measured.heapMb,
      });
    }
  });
  console.table(table);
}

/** Seals so many rows of one chain. */
export async function seal(service: Service, database: TestDatabase, tenant: Tenant, rows: number): Promise<void> {
  const log = createLogger("bench", "fatal");
  const deps = { db: database.db, log, now: () => new Date(), batchRows: sealRows, batchBytes: 1 << 24 };
  for (let done = 0; done < rows; done += sealRows) {
    const count = Math.min(sealRows, rows - done);
    const batch = Array.from({ length: count }, (_, n) => eventOf(tenant.orgId, tenant.partnerId, done + n));
    await service.sealMessages(
      deps,
      batch.map((event) => ({ ...messageOf(event), streamSeq: 1, deliveries: 1, traceparent: null })),
    );
  }
}

async function verify(service: Verifying, database: TestDatabase, orgId: string) {
  const db = openDatabase({ url: database.appUrl, max: 2, name: "audit", log: createLogger("bench", "fatal") });
  const deps = { db, trust: { verifiers: [], deployment: null }, copies: async () => [] };
  const before = process.cpuUsage();
  const startedMs = performance.now();
  let peak = 0;
  try {
    const cursor = await service.startVerifying(deps, orgId, null);
    for (;;) {
      const findings = await service.verifyPage(deps, cursor);
      peak = Math.max(peak, process.memoryUsage().heapUsed);
      if (!findings) continue;
      if (findings[0]?.verdict !== "OK") throw new Error(`the chain does not verify: ${JSON.stringify(findings[0])}`);
      break;
    }
    const seconds = (performance.now() - startedMs) / 1000;
    const { user, system } = process.cpuUsage(before);
    const { rows } = cursor.v;
    return {
      perSecond: rows / seconds,
      cpuUs: (user + system) / rows,
      stateBytes: JSON.stringify(cursor).length,
      heapMb: Math.round(peak / 1_048_576),
    };
  } finally {
    await db.close();
  }
}
