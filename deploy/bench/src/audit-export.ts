import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { jobs, openDatabase, sql } from "@muster/db";
import { createLogger, generateNoteKey, noteKeys, systemCaller, uuidv7 } from "@muster/kit";
import type { TestDatabase } from "@muster/testing";
import { loadAudit } from "./audit-modules.ts";
import { withAuditDatabase } from "./audit-service.ts";
import { type Service as SealingService, seal } from "./audit-verify.ts";
import type { Report } from "./report.ts";

const kind = "audit.export";
const leastPerSecond = 5_000;
const verifier = fileURLToPath(new URL("../../../docs/examples/verify_audit_export.py", import.meta.url));

type Service = SealingService & {
  runExport(deps: object, job: object, signal: AbortSignal): Promise<void>;
};

/**
 * `npm run bench -- audit-export [rows]`: exports one chain (1,000,000 rows by default) in parts, and has them verified
 * by a program in Python that was written from the documented format alone.
 */
export async function run([rows = "1000000"]: string[], report: Report): Promise<void> {
  const size = Number(rows);
  const service = (await loadAudit("events/sealer", "jobs/exporter")) as Service;
  const keys = noteKeys(generateNoteKey("bench"));
  const folder = mkdtempSync(join(tmpdir(), "muster-parts-"));
  try {
    await withAuditDatabase(async (database) => {
      const [orgId, partnerId] = [uuidv7(), uuidv7()];
      await seal(service, database, { orgId, partnerId }, size);
      const { seconds, bytes, parts } = await exported(service, database, { orgId, folder, keys });
      const label = size.toLocaleString("en-US");
      report.atLeast(`exported of ${label} rows`, size / seconds, "rows/s", leastPerSecond);
      report.also(`compressed bytes at ${label} rows`, bytes / size, "bytes a row");
      report.also("parts", parts, "");
      const startedMs = performance.now();
      const { status, stdout } = spawnSync("python3", [verifier, folder, keys.signer.text, "bench"], {
        encoding: "utf8",
      });
      if (status !== 0 || !stdout.startsWith(`OK: ${size} rows`)) throw new Error(`Python says: ${stdout}`);
      report.also("verified by Python", size / ((performance.now() - startedMs) / 1_000), "rows/s");
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

type Wanted = { orgId: string; folder: string; keys: ReturnType<typeof noteKeys> };

async function exported(service: Service, database: TestDatabase, { orgId, folder, keys }: Wanted) {
  const log = createLogger("bench", "fatal");
  const db = openDatabase({ url: database.appUrl, max: 2, name: "audit", log });
  try {
    const input = { chainId: orgId, orgId, partnerId: null, filter: {}, createdBy: "bench" };
    const id = await jobs(db).enqueue({ kind, input });
    const job = await jobs(db).claim({ kinds: [kind] });
    if (!job) throw new Error("the export was not claimed");
    const startedMs = performance.now();
    const deps = { db, log, deployment: "bench", ...keys, now: () => new Date(), copies: async () => [] };
    await service.runExport(deps, job, new AbortController().signal);
    const seconds = (performance.now() - startedMs) / 1_000;
    let [bytes, parts] = [0, 0];
    const who = { caller: systemCaller("audit") };
    for (let number = 0; ; number++) {
      const [row] = await db.read<{ content: Buffer }>(
        who,
        sql`SELECT content FROM export_part WHERE export_id = ${id} AND number = ${number}`,
      );
      if (!row) break;
      const name = number === 0 ? "manifest" : `part-${String(number).padStart(6, "0")}`;
      writeFileSync(join(folder, `${name}.jsonl.gz`), row.content);
      bytes += row.content.length;
      parts = number;
    }
    return { seconds, bytes, parts };
  } finally {
    await db.close();
  }
}
