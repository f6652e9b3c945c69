import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { startStack } from "@muster/local";
import pg from "pg";
import { type Call, newAdministrator, password, sameAdministrator } from "./administrator.ts";

const warming = 3;

export type ListTimes = { list: string; answered: string; "p50 ms": number; "p99 ms": number };

export type Fill = (rows: (owner: pg.Client) => Promise<void>) => Promise<void>;

/**
 * Runs `measure` on a cluster with a first administrator. `fill` inserts the rows, as the database's superuser where it
 * asks for one, and returns what `measure` needs. With a folder the cluster's data is kept: the first run fills it,
 * later runs only measure.
 */
export async function withLists<Filled>(
  fill: (root: Call, fill: Fill) => Promise<Filled>,
  measure: (root: Call, filled: Filled) => Promise<void>,
  folder?: string,
): Promise<void> {
  const running = await startStack({
    adminPassword: password,
    env: { PASSWORD_SCRYPT_LOG_N: "12", SESSION_RATE_LIMIT: "1000000000" },
    ...(folder ? { dataDir: resolve(folder) } : {}),
  });
  try {
    const [gateway] = running.stack.gateways;
    if (!gateway) throw new Error("the cluster has no gateway");
    const note = join(running.dataDir, "lists.json");
    if (existsSync(note)) {
      const { secret, filled } = JSON.parse(readFileSync(note, "utf8")) as { secret: string; filled: Filled };
      return await measure(await sameAdministrator(gateway.url, secret), filled);
    }
    const { call, secret } = await newAdministrator(gateway.url);
    const filled = await fill(call, (rows) => asSuperuser(running.stack.databaseUrl, rows));
    writeFileSync(note, JSON.stringify({ secret, filled }), { mode: 0o600 });
    await measure(call, filled);
  } finally {
    await running.stop();
  }
}

async function asSuperuser(connectionString: string, rows: (owner: pg.Client) => Promise<void>): Promise<void> {
  const owner = new pg.Client({ connectionString });
  await owner.connect();
  try {
    await rows(owner);
  } finally {
    await owner.end();
  }
}

/** GETs a list `calls` times, one after the other, after three warm-up requests. */
export async function timeList(root: Call, list: string, path: string, calls: number): Promise<ListTimes> {
  const took: number[] = [];
  let answered = "";
  for (let n = 0; n < calls + warming; n++) {
    const startedMs = performance.now();
    const { status, body } = await root("GET", path);
    if (n >= warming) took.push(performance.now() - startedMs);
    const pages = body.pagination as { total: number | null; totalIsEstimate?: boolean } | undefined;
    const all = pages ? ` of ${pages.totalIsEstimate ? "~" : ""}${pages.total}` : "";
    answered = `${status}: ${(body.data as unknown[]).length}${all}`;
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => Math.round((took[Math.floor(took.length * share)] ?? 0) * 10) / 10;
  return { list, answered, "p50 ms": at(0.5), "p99 ms": at(0.99) };
}
