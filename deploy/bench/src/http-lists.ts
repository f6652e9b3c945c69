import { startStack } from "@muster/local";
import pg from "pg";
import { administrator, type Call, password } from "./administrator.ts";

const warming = 3;

export type ListTimes = { list: string; answered: string; "p50 ms": number; "p99 ms": number };

/** Runs with a cluster of its own and its first administrator; `fill` runs as the superuser of its database. */
export async function withLists(
  run: (root: Call, fill: (rows: (owner: pg.Client) => Promise<void>) => Promise<void>) => Promise<void>,
): Promise<void> {
  const running = await startStack({
    adminPassword: password,
    env: { PASSWORD_SCRYPT_LOG_N: "12", SESSION_RATE_LIMIT: "1000000000" },
  });
  try {
    const [gateway] = running.stack.gateways;
    if (!gateway) throw new Error("the cluster has no gateway");
    await run(await administrator(gateway.url), async (rows) => {
      const owner = new pg.Client({ connectionString: running.stack.databaseUrl });
      await owner.connect();
      try {
        await rows(owner);
      } finally {
        await owner.end();
      }
    });
  } finally {
    await running.stop();
  }
}

/** GETs a list so many times, one after the other, after three that warm up. */
export async function timeList(root: Call, list: string, path: string, calls: number): Promise<ListTimes> {
  const took: number[] = [];
  let answered = "";
  for (let n = 0; n < calls + warming; n++) {
    const startedMs = performance.now();
    const { status, body } = await root("GET", path);
    if (n >= warming) took.push(performance.now() - startedMs);
    const { total, totalIsEstimate } = body.pagination as { total: number | null; totalIsEstimate?: boolean };
    answered = `${status}: ${(body.data as unknown[]).length} of ${totalIsEstimate ? "~" : ""}${total}`;
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => Math.round((took[Math.floor(took.length * share)] ?? 0) * 10) / 10;
  return { list, answered, "p50 ms": at(0.5), "p99 ms": at(0.99) };
}
