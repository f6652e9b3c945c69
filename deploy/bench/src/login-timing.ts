import { randomInt, randomUUID } from "node:crypto";
import { startStack } from "@muster/local";
import pg from "pg";
import { administrator, type Call, callAt, newOrganization, password } from "./administrator.ts";
import type { Report } from "./report.ts";

/** Accounts of each kind, so that no one of them is tried often. */
const accountsEach = 20;
/** Bounds, stated beforehand: see docs/performance/login-timing.md. */
const aucMax = 0.58;
const medianMaxShare = 0.03;
const medianMinMs = 1;

const kinds = ["unknown", "wrong password", "disabled", "invited"] as const;
type Kind = (typeof kinds)[number];
type Account = { email: string; password: string };
type Shape = { status: number; headers: string; body: string };

/**
 * `npm run bench -- login-timing [tries of each kind]`: refused sign-ins of four kinds in random order, one at a time,
 * against a local cluster (1,000 of each when not said). Bounds: every answer has the same status, header names and
 * body; no two kinds' medians differ by more than 3 % (or 1 ms); the time of one reply does not distinguish a kind from
 * an unknown account with an AUC above 0.58. Beyond them the process ends with status 1.
 */
export async function run(args: string[], report: Report): Promise<void> {
  const tries = Math.min(Number(args[0] ?? 1_000), 20_000);
  const running = await startStack({
    adminPassword: password,
    env: {
      PASSWORD_SCRYPT_LOG_N: process.env.PASSWORD_SCRYPT_LOG_N ?? "14",
      LOGIN_FAILURES_PER_ACCOUNT: "1000000",
      LOGIN_FAILURES_PER_ADDRESS: "1000000",
    },
  });
  try {
    const url = running.stack.gateways[0]?.url as string;
    const accounts = await makeAccounts(await administrator(url), url, running.stack.databaseUrl);
    const times = new Map<Kind, number[]>(kinds.map((kind) => [kind, []]));
    const shapes = new Set<string>();
    for (let i = 0; i < kinds.length * tries; i++) {
      // Warm before it counts.
      const counts = i >= kinds.length * 10;
      const kind = kinds[randomInt(kinds.length)] as Kind;
      const list = accounts[kind];
      const { tookMs, shape } = await attempt(url, list[randomInt(list.length)] as Account);
      shapes.add(JSON.stringify(shape));
      if (counts) times.get(kind)?.push(tookMs);
    }
    print(times, shapes, report);
  } finally {
    await running.stop();
  }
}

async function attempt(url: string, account: Account): Promise<{ tookMs: number; shape: Shape }> {
  const body = JSON.stringify(account);
  const headers = { "content-type": "application/json" };
  const startedMs = performance.now();
  const reply = await fetch(`${url}/api/v1/auth/login`, { method: "POST", headers, body });
  const text = await reply.text();
  const tookMs = performance.now() - startedMs;
  const { requestId: _own, ...rest } = JSON.parse(text) as Record<string, unknown>;
  const names = [...reply.headers.keys()].sort().join(",");
  return { tookMs, shape: { status: reply.status, headers: names, body: JSON.stringify(rest) } };
}

/** Accounts of each kind; those that are disabled keep the right password. */
async function makeAccounts(root: Call, url: string, databaseUrl: string): Promise<Record<Kind, Account[]>> {
  const { orgId } = await newOrganization(root);
  const roles = (await root("GET", "/roles")).body.data as { id: string; key: string }[];
  const roleId = roles.find(({ key }) => key === "org-viewer")?.id;
  const many = async (make: () => Promise<Account>) => {
    const list: Account[] = [];
    while (list.length < accountsEach) list.push(await make());
    return list;
  };
  const address = () => `timing-${randomUUID().slice(0, 13)}@example.com`;
  const invite = async (): Promise<Account & { token: string | null }> => {
    const email = address();
    const { status, body } = await root("POST", "/users", { email, name: "Timing", orgId, roleId });
    if (status !== 201) throw new Error(`POST /users answered ${status}: ${JSON.stringify(body)}`);
    return { email, password, token: new URLSearchParams(new URL(String(body.inviteUrl)).hash.slice(1)).get("token") };
  };
  const accepted = async (): Promise<Account> => {
    const { email, token } = await invite();
    const { status } = await callAt(url, null, "POST", "/auth/accept-invite", { token, password });
    if (status !== 200) throw new Error(`accept-invite answered ${status}`);
    return { email, password };
  };
  const disabled = await many(accepted);
  const owner = new pg.Client({ connectionString: databaseUrl });
  await owner.connect();
  const emails = disabled.map(({ email }) => email);
  await owner.query("UPDATE identity.users SET status = 'disabled', version = version + 1 WHERE email = ANY ($1)", [
    emails,
  ]);
  await owner.end();
  return {
    unknown: await many(async () => ({ email: address(), password })),
    "wrong password": await many(async () => ({ ...(await accepted()), password: "not the password at all" })),
    disabled,
    invited: await many(async () => {
      const { email } = await invite();
      return { email, password };
    }),
  };
}

function print(times: Map<Kind, number[]>, shapes: ReadonlySet<string>, report: Report): void {
  const sorted = new Map([...times].map(([kind, list]) => [kind, list.sort((a, b) => a - b)]));
  const unknown = sorted.get("unknown") ?? [];
  const rows = [...sorted].map(([kind, list]) => {
    const at = (share: number) => Number((list[Math.floor(list.length * share)] ?? 0).toFixed(2));
    return {
      kind,
      tries: list.length,
      "p50 ms": at(0.5),
      "p95 ms": at(0.95),
      "p99 ms": at(0.99),
      AUC: auc(unknown, list),
    };
  });
  console.table(rows);
  const medians = rows.map((row) => row["p50 ms"]);
  const spreadMs = Math.max(...medians) - Math.min(...medians);
  const allowedMs = Math.max(medianMinMs, medianMaxShare * Math.min(...medians));
  const worst = Math.max(...rows.map((row) => row.AUC));
  const verdicts: [string, boolean][] = [
    [`one status, set of headers and body for all: ${shapes.size} seen`, shapes.size === 1],
    [
      `medians within ${spreadMs.toFixed(2)} ms of each other, ${allowedMs.toFixed(2)} ms allowed`,
      spreadMs <= allowedMs,
    ],
    [`AUC against an unknown account at most ${worst}, ${aucMax} allowed (0.5 is a coin)`, worst <= aucMax],
  ];
  report.atMost("AUC against an unknown account", worst, "", aucMax);
  report.atMost("medians differ by", spreadMs, "ms", Number(allowedMs.toFixed(2)));
  report.atMost("kinds of answers", shapes.size, "", 1);
  for (const { kind, "p50 ms": p50 } of rows) report.also(`${kind}, p50`, p50, "ms");
  for (const [sentence, holds] of verdicts) console.log(`${holds ? "holds" : "BROKEN"}: ${sentence}`);
  if (verdicts.some(([, holds]) => !holds)) process.exitCode = 1;
}

/** Mann-Whitney: how often a time of one list is longer than one of the other, in the better direction. Both sorted. */
function auc(a: readonly number[], b: readonly number[]): number {
  let below = 0;
  let wins = 0;
  for (const value of b) {
    while (below < a.length && (a[below] as number) < value) below++;
    wins += below;
  }
  const share = wins / Math.max(1, a.length * b.length);
  return Number((a === b ? 0.5 : Math.max(share, 1 - share)).toFixed(3));
}
