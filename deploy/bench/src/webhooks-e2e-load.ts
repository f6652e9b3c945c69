import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export const endpointsOfTenant = 4;
/** What a tenant's events are posted with; the body is prefix + data + suffix. */
export type Tenant = { headers: Record<string, string>; prefix: string; suffix: string };
export type Plan = {
  port: number;
  tenants: readonly Tenant[];
  /** Part of every event's number. */
  run: string;
  connections: number;
  /** Events a second at their times; null: each connection posts again as soon as it has its answer. */
  rate: number | null;
  seconds: number;
  /** The tenant that gets `share` of the events; the others get the rest round-robin. */
  hot: { tenant: number; share: number } | null;
};
/**
 * One posted event; times in milliseconds of the clock that all processes of a machine share, `acceptedMs` 0 unless it
 * was answered 2xx; `tellsWhen`: its answer had a Retry-After.
 */
export type Posted = { tenant: number; sentMs: number; acceptedMs: number } & Answer;
type Answer = { status: number; tellsWhen: boolean };

const dataBytes = 600;
/** CLOCK_MONOTONIC in milliseconds. */
export const clockMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Posts events through the public API as the plan says; returns the result of each, in the order of their numbers. */
export async function post(plan: Plan): Promise<Posted[]> {
  const posted: Posted[] = [];
  const pool = Array.from({ length: plan.connections }, () => createConnection(plan.port));
  const take = tenantsInTurn(plan);
  const sendOn = async (connection: Connection) => {
    const each: Posted = { tenant: take(), sentMs: clockMs(), acceptedMs: 0, status: 0, tellsWhen: false };
    const number = posted.push(each) - 1;
    Object.assign(each, await connection.send(requestOf(plan, each.tenant, number)));
    if (each.status >= 200 && each.status < 300) each.acceptedMs = clockMs();
    else await sleep(5);
  };
  const beganMs = clockMs();
  const endMs = beganMs + plan.seconds * 1_000;
  if (plan.rate === null) {
    await Promise.all(
      pool.map(async (each) => {
        while (clockMs() < endMs) await sendOn(each);
      }),
    );
  } else {
    await paced(plan.rate, plan.seconds, beganMs, pool, sendOn);
  }
  for (const each of pool) each.close();
  return posted;
}

/** Each event at its time, or as soon after it as a connection is free. */
async function paced(
  rate: number,
  seconds: number,
  beganMs: number,
  pool: readonly Connection[],
  sendOn: (connection: Connection) => Promise<void>,
): Promise<void> {
  let next = 0;
  const total = Math.floor(rate * seconds);
  await Promise.all(
    pool.map(async (each) => {
      while (next < total) {
        const dueMs = beganMs + (next++ * 1_000) / rate;
        const waitMs = dueMs - clockMs();
        if (waitMs > 1) await sleep(waitMs);
        await sendOn(each);
      }
    }),
  );
}

function tenantsInTurn({ tenants, hot }: Plan): () => number {
  const others = tenants.map((_, tenant) => tenant).filter((tenant) => tenant !== hot?.tenant);
  let taken = 0;
  let hots = 0;
  return () => {
    taken += 1;
    if (hot && Math.floor(taken * hot.share) > hots) {
      hots += 1;
      return hot.tenant;
    }
    return others[(taken - hots) % others.length] ?? 0;
  };
}

function requestOf({ port, tenants, run }: Plan, tenant: number, number: number): string {
  const { headers, prefix, suffix } = tenants[tenant] as Tenant;
  const start = `{"k":"${run}.${number}","tenant":${tenant},"pad":"`;
  const body = `${prefix}${start}${"x".repeat(dataBytes - start.length - 2)}"}${suffix}`;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n${lines.join("")}Content-Length: ${body.length}\r\n\r\n${body}`;
}

type Connection = { send(request: string): Promise<Answer>; close(): void };

/**
 * A keep-alive connection with one request at a time, which costs the machine less than any HTTP client; status 0 means
 * no answer.
 */
function createConnection(port: number): Connection {
  let socket: Socket | null = null;
  let answered: ((answer: Answer) => void) | null = null;
  let text = "";
  const answer = (status: number, tellsWhen = false) => {
    const waiting = answered;
    answered = null;
    waiting?.({ status, tellsWhen });
  };
  const read = () => {
    const end = text.indexOf("\r\n\r\n");
    const length = end < 0 ? null : /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end));
    if (!length || text.length < end + 4 + Number(length[1])) return;
    const status = Number(text.slice(9, 12));
    const tellsWhen = /\r\nretry-after:/i.test(text.slice(0, end));
    const closes = /\r\nconnection: *close/i.test(text.slice(0, end));
    text = text.slice(end + 4 + Number(length[1]));
    if (closes) socket?.destroy();
    answer(status, tellsWhen);
  };
  const open = () => {
    const opened = connect({ host: "127.0.0.1", port, noDelay: true });
    text = "";
    opened.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
      read();
    });
    opened.on("error", () => undefined);
    opened.on("close", () => {
      if (socket === opened) socket = null;
      answer(0);
    });
    return opened;
  };
  return {
    send(request) {
      return new Promise((resolve) => {
        answered = resolve;
        socket ??= open();
        socket.write(request);
      });
    },
    close: () => socket?.destroy(),
  };
}
