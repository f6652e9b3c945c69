import { spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { generateCallerKey } from "@muster/rpc";
import { until } from "@muster/testing";
import { api } from "../support/client.ts";
import { type Cluster, ownCluster } from "../support/cluster.ts";
import { totpAt } from "../support/operator.ts";
import { enrollTotp, newOrganization, newPartner, signedInAs, type TestUser } from "../support/users.ts";

type Secrets = {
  secretEncryptionKeys: Record<string, string>;
  jwtPrivateKeys: string;
  callers: Record<string, { kid: string; privateKey: string; publicPem: string }>;
};
type Enrolled = TestUser & { secret: string; lastStep: number };

const stepMs = 30_000;
/** A process is away for seconds: it misses dozens of requests. Without any pause its start would wait for them. */
const pauseMs = 100;
let cluster: Cluster & { stop(): Promise<void> };
let orgId: string;
/** Users who send requests all the time, each `pauseMs` after the last answers. */
let users: Enrolled[];
/** Users who sign in when a test decides. */
let others: Enrolled[];
let secretsFile: string;

beforeAll(async () => {
  cluster = await ownCluster({ MUSTER_REPLICAS: "identity=2,tenancy=2,gateway=2" });
  secretsFile = join(cluster.dataDir, "keys", "secrets.json");
  orgId = await newOrganization(cluster, await newPartner(cluster));
  const enrolled = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const user = await signedInAs(cluster, "platform-admin");
      const { secret } = await enrollTotp(user);
      return { ...user, secret, lastStep: Math.floor(Date.now() / stepMs) };
    }),
  );
  users = enrolled.slice(0, 4);
  others = enrolled.slice(4);
}, 240_000);
afterAll(async () => {
  await cluster?.stop();
}, 60_000);

const secrets = async () => JSON.parse(await readFile(secretsFile, "utf8")) as Secrets;
async function changeSecrets(change: Partial<Secrets>): Promise<void> {
  await writeFile(secretsFile, JSON.stringify({ ...(await secrets()), ...change }, null, 2));
}

/** Gateways that clients are sent to, as a load balancer knows them. */
let inRotation: string[] = [];
let turn = 0;
const gateway = (): Cluster => ({ ...cluster, url: inRotation[turn++ % inRotation.length] ?? cluster.url });

/** The log lines of all processes about a request. */
async function logged(requestId: string): Promise<string> {
  const folder = join(cluster.dataDir, "logs");
  const logs = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), "utf8")));
  const lines = logs.flatMap((log) => log.split("\n")).filter((line) => line.includes(requestId));
  return lines.map((line) => `\n  ${line.slice(0, 1_500)}`).join("");
}

/**
 * Asks once more what a gateway answered 503 because identity's promise of a place in the hourly limit, which is good
 * for a second, came too late: so does a machine that is busy enough, whatever is rotated.
 */
async function despiteLateness<R extends { status: number; body: Record<string, unknown> }>(
  call: () => Promise<R>,
): Promise<R> {
  const reply = await call();
  if (reply.status !== 503) return reply;
  return (await logged(String(reply.body.requestId))).includes("deadline_exceeded") ? call() : reply;
}

/** Kinds of requests of which more than this number must have been answered meanwhile. */
const expectedKinds = [
  ["refresh", 10],
  ["session", 10],
  ["TOTP", 0],
] as const;

/**
 * Requests all the time while `action` runs, and with `signInNow` another user's sign-in with a valid code; returns how
 * many of each kind were answered well, and all that were not.
 */
async function underLoad(
  action: (signInNow: () => Promise<void>) => Promise<unknown>,
): Promise<{ answered: Record<string, number>; failed: string[] }> {
  const answered: Record<string, number> = {};
  const failed: string[] = [];
  let going = true;
  const ask = async (what: string, token: string | undefined, method: string, path: string, body?: object) => {
    const at = gateway();
    const call = () => api(at, token).call(method, path, body);
    const reply = await (method === "GET" ? despiteLateness(call) : call()).catch((error: Error) => ({
      status: 0,
      body: { code: `${error.cause ?? error}` } as Record<string, unknown>,
    }));
    if (reply.status < 300 && reply.status > 0) answered[what] = (answered[what] ?? 0) + 1;
    else failed.push(`${what}: ${reply.status} ${reply.body.code}${await logged(String(reply.body.requestId))}`);
    return reply;
  };
  const signIn = async (user: Enrolled) => {
    const step = freshStep(user);
    if (step === null) return;
    user.lastStep = step;
    const { email, password } = user;
    const first = await ask("password", undefined, "POST", "/auth/login", { email, password });
    if (first.status !== 200) return;
    const { mfaToken } = first.body;
    const code = totpAt(user.secret, step * stepMs);
    const second = await ask("TOTP", undefined, "POST", "/auth/mfa/verify", { mfaToken, code });
    if (second.status === 200) Object.assign(user, pick(second.body));
  };
  const refresh = async (user: Enrolled) => {
    const next = await ask("refresh", undefined, "POST", "/auth/refresh", { refreshToken: user.refreshToken });
    if (next.status === 200) Object.assign(user, pick(next.body));
    await ask("session", user.accessToken, "GET", `/orgs/sites?orgId=${orgId}`);
  };
  const clients = users.map(async (user) => {
    while (going) {
      await signIn(user);
      await refresh(user);
      await delay(pauseMs);
    }
  });
  const signInNow = async () => {
    const user = await until("a user with a fresh code", () => others.find((one) => freshStep(one)), 2 * stepMs);
    await signIn(user);
  };
  try {
    await action(signInNow);
    const enough = () => failed.length > 0 || expectedKinds.every(([what, times]) => (answered[what] ?? 0) > times);
    await until("each kind of request", enough, 90_000);
  } finally {
    going = false;
    await Promise.all(clients);
  }
  return { answered, failed };
}

/** The time step of a code that the user has not used yet; null while there is none. */
function freshStep({ lastStep }: Enrolled): number | null {
  const now = Math.floor(Date.now() / stepMs);
  const step = Math.max(lastStep + 1, now);
  return step > now + 1 ? null : step;
}

const pick = ({ accessToken, refreshToken }: Record<string, unknown>) =>
  ({ accessToken, refreshToken }) as Pick<TestUser, "accessToken" | "refreshToken">;

/** Ends one process of the service after the other; its supervisor restarts each with the present keys file. */
async function restart(service: string): Promise<void> {
  const processes = async () => {
    const { services, gateways } = await cluster.stack();
    if (service === "gateway") return gateways.map((each, at) => ({ ...each, name: String(at) }));
    const named = Object.entries(services).filter(([name]) => name.replace(/-\d+$/, "") === service);
    return named.map(([name, each]) => ({ ...each, name, url: "" }));
  };
  for (const { name, pid, url } of await processes()) {
    inRotation = inRotation.filter((each) => each !== url);
    process.kill(pid, "SIGTERM");
    await until(
      `${service} ${name} to serve again`,
      async () => {
        const now = (await processes()).find((each) => each.name === name);
        if (!now?.pid || now.pid === pid) return false;
        return fetch(`${now.ops}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      },
      60_000,
    );
    if (url) inRotation.push(url);
  }
}

async function reencryptAll(): Promise<string> {
  const command = fileURLToPath(new URL("../../../deploy/local/dist/command.js", import.meta.url));
  const child = spawn(process.execPath, [command, "reencrypt"], {
    env: { PATH: process.env.PATH, MUSTER_DATA_DIR: cluster.dataDir },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const status = await new Promise((resolve) => child.once("close", resolve));
  if (status !== 0) throw new Error(`reencrypt ended with ${status}:\n${output}`);
  return output;
}

function expectNoFailure({ answered, failed }: Awaited<ReturnType<typeof underLoad>>): void {
  expect(failed).toEqual([]);
  for (const [what, times] of expectedKinds) expect(answered[what]).toBeGreaterThan(times);
}

const jwtKey = (kid: string) => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return `${kid}:${privateKey.export({ type: "pkcs8", format: "der" }).toString("base64")}`;
};
const me = (token: string, url: string) => api({ ...cluster, url }, token).call("GET", "/auth/me");
async function expectAdmitted(token: string, url: string): Promise<void> {
  const { status, body } = await despiteLateness(() => me(token, url));
  expect([status, status === 200 ? "" : await logged(String(body.requestId))]).toEqual([200, ""]);
}

describe("a key that is replaced while requests run on two replicas", () => {
  beforeAll(async () => {
    inRotation = (await cluster.stack()).gateways.map(({ url }) => url);
  });

  it("for secrets at rest and for sessions: none fails, the old key of secrets is not needed after re-encryption, and a token of the removed key is refused by every gateway", async () => {
    const { secretEncryptionKeys: kept, jwtPrivateKeys: oldSigner } = await secrets();
    const oldSeal = kept.identity as string;
    const [seal, signer] = [`k2:${randomBytes(32).toString("base64")}`, jwtKey("second")];
    const identityWith = async (identity: string, jwtPrivateKeys: string) => {
      await changeSecrets({ secretEncryptionKeys: { ...kept, identity }, jwtPrivateKeys });
      await restart("identity");
    };
    const [user] = users as [Enrolled];
    let old = "";
    const load = await underLoad(async (signInNow) => {
      // All must know the new keys before one uses them.
      await identityWith(`${oldSeal},${seal}`, `${oldSigner},${signer}`);
      await signInNow();
      old = user.accessToken;
      await identityWith(`${seal},${oldSeal}`, `${signer},${oldSigner}`);
      await signInNow();
      for (const url of inRotation) await expectAdmitted(old, url);
      expect(await reencryptAll()).toMatch(/"keyId":"k2".*older keys are needed no longer/);
      await until("all to have a session of the new key", () => users.every(isOfSecond), 60_000);
      // In production: the life of an access token later.
      await identityWith(seal, signer);
      await signInNow();
    });
    expectNoFailure(load);
    expect(kidOf(old)).not.toBe("second");
    // With nothing but the new keys: secrets of before are opened, too.
    expectNoFailure(await underLoad((signInNow) => signInNow()));
    for (const url of inRotation) {
      // A gateway asks for the keys every five minutes, and for an unknown one at once.
      await until("the gateway to ask for the keys", async () => {
        await me(withKid(user.accessToken, createHash("sha256").update(url).digest("hex").slice(0, 8)), url);
        return (await me(old, url)).status === 401;
      });
      expect((await me(old, url)).body.code).toBe("unauthenticated");
      await expectAdmitted(user.accessToken, url);
    }
  }, 240_000);

  it("for callers, one service after the other: none fails, and the public key of the old can go", async () => {
    const services = ["identity", "tenancy", "gateway"];
    const { callers } = await secrets();
    const folder = join(cluster.dataDir, "keys", "caller");
    const fresh = Object.fromEntries(services.map((name) => [name, generateCallerKey()]));
    for (const name of services) {
      await mkdir(join(folder, name), { recursive: true });
      await writeFile(join(folder, name, `${fresh[name]?.kid}.pem`), fresh[name]?.publicPem ?? "");
    }
    const load = await underLoad(async (signInNow) => {
      for (const name of services) {
        await changeSecrets({
          callers: { ...(await secrets()).callers, [name]: fresh[name] as (typeof callers)[string] },
        });
        await restart(name);
      }
      await signInNow();
      for (const name of services) await rm(join(folder, name, `${callers[name]?.kid}.pem`));
    });
    expectNoFailure(load);
    const [user] = users as [Enrolled];
    for (const url of inRotation) await expectAdmitted(user.accessToken, url);
  }, 240_000);
});

const headerOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()) as { kid: string };
const kidOf = (token: string) => headerOf(token).kid;
const isOfSecond = ({ accessToken }: Enrolled) => kidOf(accessToken) === "second";
function withKid(token: string, kid: string): string {
  const [, ...rest] = token.split(".");
  return [Buffer.from(JSON.stringify({ ...headerOf(token), kid })).toString("base64url"), ...rest].join(".");
}
