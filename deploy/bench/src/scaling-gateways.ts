import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startStack } from "@muster/local";
import { callAt, password } from "./administrator.ts";
import { type Step, startShares } from "./scaling-shares.ts";

const most = 3;
const connections = 16;
const warmMs = 2_000;
const measureMs = 5_000;
const rounds = 2;

/** `GET /auth/me` with a session, which a gateway answers by itself, by 1, 2 and 3 gateways. */
export async function gateways(): Promise<Step[]> {
  const running = await startStack({
    adminPassword: password,
    env: { NODE_ENV: "development", SESSION_RATE_LIMIT: "1000000000", MUSTER_REPLICAS: `gateway=${most}` },
  });
  const shares = startShares();
  try {
    const { gateways } = running.stack;
    const login = { email: "admin@muster.local", password };
    const { body } = await callAt(gateways[0]?.url ?? "", null, "POST", "/auth/login", login);
    for (const { pid } of gateways) shares.onStarted(pid ?? 0);
    const clients: Awaited<ReturnType<typeof client>>[] = [];
    const steps: Step[] = [];
    for (const [n, { url }] of gateways.entries()) {
      // Not before: a gateway closes connections on which nothing comes.
      clients.push(await client(url, String(body.accessToken)));
      const round = async (ms: number) => {
        const made = await Promise.all(clients.map((each) => each.round(ms)));
        return made.reduce((sum, { requests, seconds }) => sum + requests / seconds, 0);
      };
      await round(warmMs);
      const figures: number[] = [];
      for (let turn = 0; turn < rounds; turn++) figures.push(await round(measureMs));
      steps.push({ replicas: n + 1, perSecond: figures.reduce((sum, each) => sum + each, 0) / rounds });
    }
    for (const each of clients) each.stop();
    return steps;
  } finally {
    await running.stop();
    shares.remove();
  }
}

async function client(url: string, token: string) {
  const program = fileURLToPath(new URL("./http-client.js", import.meta.url));
  const child = fork(program, [new URL(url).port, token, String(connections)]);
  const ended = once(child, "exit").then(([status]) => {
    throw new Error(`a client ended with ${status}`);
  });
  ended.catch(() => undefined);
  await once(child, "message");
  return {
    async round(ms: number): Promise<{ requests: number; seconds: number }> {
      const answered = once(child, "message");
      child.send({ ms });
      return (await Promise.race([answered, ended]))[0] as { requests: number; seconds: number };
    },
    stop: () => void child.kill(),
  };
}
