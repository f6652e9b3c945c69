import { setTimeout as delay } from "node:timers/promises";
import { type RunningStack, rotateClusterCertificates, startStack } from "@muster/local";
import { testCaFile } from "@muster/testing";
import pg from "pg";
import { newAdministrator, password } from "./administrator.ts";
import { host, type Load, startLoad } from "./failover-load.ts";
import { type Pair, pairBinaries, startPair } from "./failover-postgres.ts";
import { type Receiver, startReceiver } from "./webhooks-cluster.ts";

const settleMs = 90_000;
const aroundMs = 3_000;
const resumeAfterMs = Number(process.env.FAILOVER_PAUSE_MS ?? 60_000);
const writeWithinMs = { promotion: 3_000, election: 5_000 };

type Fault = {
  /**
   * What is lost, and brings it about; resolves with the moment from which writes should go on, and within how many
   * ms.
   */
  strike(at: { pair: Pair; running: RunningStack }): Promise<{ fromMs: number; withinMs: number }>;
  /** The pair has one server less afterwards. */
  rebuilds?: boolean;
};

const natsPid = (running: RunningStack, n: number) => running.refresh().natsServers[n]?.pid ?? 0;

const faults: Record<string, Fault> = {
  "primary killed": {
    rebuilds: true,
    async strike({ pair }) {
      const promoted = pair.promoted();
      pair.kill();
      return { fromMs: await promoted, withinMs: writeWithinMs.promotion };
    },
  },
  "switch-over": {
    rebuilds: true,
    async strike({ pair }) {
      const promoted = pair.promoted();
      pair.stop();
      return { fromMs: await promoted, withinMs: writeWithinMs.promotion };
    },
  },
  "primary paused": {
    async strike({ pair }) {
      pair.pause();
      await delay(resumeAfterMs);
      pair.resume();
      return { fromMs: performance.now(), withinMs: writeWithinMs.promotion };
    },
  },
  "connections cut": {
    async strike({ pair }) {
      pair.cut();
      return { fromMs: performance.now(), withinMs: writeWithinMs.promotion };
    },
  },
  "certificates replaced": {
    async strike({ running }) {
      await rotateClusterCertificates(running.dataDir);
      return { fromMs: performance.now(), withinMs: writeWithinMs.promotion };
    },
  },
  "NATS server killed": {
    async strike({ running }) {
      process.kill(natsPid(running, 0), "SIGKILL");
      return { fromMs: performance.now(), withinMs: writeWithinMs.election };
    },
  },
  "two NATS servers killed": {
    async strike({ running }) {
      for (const n of [1, 2]) process.kill(natsPid(running, n), "SIGKILL");
      return { fromMs: performance.now(), withinMs: writeWithinMs.election };
    },
  },
};

/**
 * `npm run bench -- failover [rounds] [part of a fault's name]`: four clients at a cluster with a pair of PostgreSQL
 * servers (synchronous standby) and three NATS servers, while one thing is lost after the other. Then counts: every
 * acknowledged site there once with one audit row, every event at its webhook, chains whole, no revoked key admitted,
 * and the first write after. Status 1 when one of them does not hold.
 */
export async function run([rounds = "1", only = ""]: string[] = []): Promise<void> {
  const bin = pairBinaries();
  if (!bin) {
    console.log("not run: failover. No pg_basebackup: install Debian's postgresql, or give MUSTER_POSTGRES_BIN.");
    if (process.env.CI === "true") process.exitCode = 1;
    return;
  }
  const pair = await startPair(bin);
  const receiver = await startReceiver(4, "https", true);
  let running: RunningStack | undefined;
  try {
    running = await startStack({
      adminPassword: password,
      env: {
        PASSWORD_SCRYPT_LOG_N: "12",
        MUSTER_DATABASE_URL: pair.url,
        MUSTER_NATS_SERVERS: "3",
        MUSTER_TLS: "true",
        EGRESS_TEST_EXCEPTIONS: receiver.ports.map((port) => `${host}:${port}=127.0.0.1`).join(","),
        NODE_EXTRA_CA_CERTS: testCaFile,
        DELIVERY_LEASE_MS: "10000",
        DELIVERY_TIMEOUT_MS: "5000",
      },
    });
    const { token } = await newAdministrator(running.stack.gateways[0]?.url ?? "");
    const at = { pair, running, receiver, token };
    const rows: Record<string, unknown>[] = [];
    for (const [name, fault] of Object.entries(faults).filter(([each]) => each.includes(only))) {
      for (let round = 1; round <= Math.min(Number(rounds), 10); round++) {
        rows.push({ fault: name, round, ...(await strike(fault, at)) });
        if (fault.rebuilds) await pair.rebuild();
      }
    }
    console.table(rows);
  } finally {
    await running?.stop();
    receiver.stop();
    await pair.remove();
  }
}

async function strike(fault: Fault, at: { pair: Pair; running: RunningStack; receiver: Receiver; token: string }) {
  const load = await startLoad(at.running.stack.gateways[0]?.url ?? "", at.token, at.receiver);
  await delay(aroundMs);
  const struckMs = performance.now();
  const { fromMs, withinMs } = await fault.strike(at);
  const firstMs = await firstWrite(load, fromMs);
  await delay(aroundMs);
  await load.stop();
  const began = performance.now();
  const counted = await settled(load, at);
  const first = Math.round(firstMs - fromMs);
  const readsMeanwhile = (times: number[]) => times.filter((ms) => ms > struckMs && ms < firstMs).length;
  const wrong =
    counted.missing + counted.doubled + counted.broken + counted.undelivered + counted.silent + load.admitted;
  if (wrong > 0 || first > withinMs) process.exitCode = 1;
  return {
    sites: load.sites.length,
    events: load.events.length,
    "sent again": load.again,
    "first write after ms": first,
    "bar ms": withinMs,
    "reads meanwhile": readsMeanwhile(load.reads),
    refused: readsMeanwhile(load.refusedReads),
    revoked: load.revoked,
    "admitted after": load.admitted,
    missing: counted.missing,
    "missing or doubled audit": counted.doubled,
    "broken chains": counted.broken,
    "events lost": counted.undelivered,
    "silent repeats": counted.silent,
    "settled s": Math.round((performance.now() - began) / 100) / 10,
  };
}

/** When the first site was acknowledged that was sent after that moment; given up after the time to settle. */
async function firstWrite({ sites }: Load, fromMs: number): Promise<number> {
  const endsMs = fromMs + settleMs;
  for (;;) {
    const first = sites.find(({ ackedMs }) => ackedMs > fromMs);
    if (first) return first.ackedMs;
    if (performance.now() > endsMs) return Number.POSITIVE_INFINITY;
    await delay(10);
  }
}

/** What is still wrong when nothing is any more, or after the time to settle. */
async function settled(load: Load, { running, receiver }: { running: RunningStack; receiver: Receiver }) {
  const client = new pg.Client({ connectionString: running.refresh().databaseUrl });
  await client.connect();
  try {
    const ids = load.sites.map(({ id }) => id);
    const endsMs = performance.now() + settleMs;
    for (;;) {
      const { rows: found } = await client.query<{ id: string; n: number }>(
        `SELECT s.id, count(l.id)::int AS n FROM tenancy.sites s
         LEFT JOIN audit.audit_log l ON l.resource_id = s.id AND l.action = 'site.create'
         WHERE s.id = ANY($1::uuid[]) GROUP BY s.id`,
        [ids],
      );
      const { rows: broken } = await client.query(
        `SELECT h.chain_id FROM audit.chain_head h LEFT JOIN audit.audit_log l USING (chain_id)
         GROUP BY h.chain_id, h.seq
         HAVING count(l.seq) <> h.seq OR coalesce(min(l.seq), 1) <> 1 OR coalesce(max(l.seq), 0) <> h.seq`,
      );
      const arrived = await receiver.arrivals();
      const counted = {
        missing: ids.length - found.length,
        doubled: found.filter(({ n }) => n !== 1).length,
        broken: broken.length,
        undelivered: load.events.filter(({ port, id }) => !arrived.has(`${port} ${id}`)).length,
        silent: (await receiver.counts()).silentRepeats,
      };
      const open = counted.missing + counted.doubled + counted.broken + counted.undelivered;
      if (open === 0 || performance.now() > endsMs) return counted;
      await delay(250);
    }
  } finally {
    await client.end();
  }
}
