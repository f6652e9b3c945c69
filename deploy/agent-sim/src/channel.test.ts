import { afterEach, describe, expect, it } from "@jest/globals";
import { decodeAgentFrame, encodeAgentFrame } from "@muster/kit";
import WebSocket, { WebSocketServer } from "ws";
import { type Channel, type ChannelOptions, openChannel } from "./channel.ts";
import { syntheticEventStore } from "./event-store.ts";

const store = syntheticEventStore({ os: "windows", hostname: "WS-1", records: 50 });
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A gateway that only listens. */
async function aGateway() {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  const connections: {
    socket: WebSocket;
    authorization: string;
    path: string;
    frames: ReturnType<typeof decodeAgentFrame>[];
  }[] = [];
  server.on("connection", (socket, request) => {
    const connection = {
      socket,
      authorization: request.headers.authorization ?? "",
      path: request.url ?? "",
      frames: [] as ReturnType<typeof decodeAgentFrame>[],
    };
    socket.on("message", (data: Buffer) => connection.frames.push(decodeAgentFrame(data)));
    connections.push(connection);
  });
  await new Promise((resolve) => server.once("listening", resolve));
  closing.push(() => {
    for (const { socket } of connections) socket.terminate();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const open = (change: Partial<ChannelOptions> = {}): Channel => {
    const channel = openChannel({
      baseUrl: () => `http://127.0.0.1:${port}`,
      agentId: "a1",
      token: () => "t",
      store,
      retryMs: 50,
      ...change,
    });
    closing.push(channel.stop);
    return channel;
  };
  return { connections, open };
}

async function until<T>(probe: () => T): Promise<NonNullable<T>> {
  for (let tries = 0; tries < 1_000; tries++) {
    const value = probe();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("waited in vain");
}

const query = (id: string, operation: string, params: object = {}) =>
  encodeAgentFrame({ type: "query", id, timeoutMs: 5_000, operation, params });

describe("the channel of a simulated agent", () => {
  it("presents its token, answers from its store, and reports what it does not have", async () => {
    const gateway = await aGateway();
    gateway.open();
    const agent = await until(() => gateway.connections[0]);
    expect([agent.path, agent.authorization]).toEqual(["/api/v1/agents/a1/channel", "Bearer t"]);
    agent.socket.send(query("1", "eventlogs.events", { name: "system", page: 1, limit: 3 }));
    agent.socket.send(query("2", "eventlogs.get", { name: "Nope" }));
    agent.socket.send(query("3", "eventlogs.event", { name: "System", recordId: 99 }));
    agent.socket.send(query("4", "reboot"));
    await until(() => agent.frames.length === 4);
    const [page, ...errors] = agent.frames;
    expect(page?.head).toEqual({ type: "chunk", id: "1", seq: 0, last: true });
    expect(JSON.parse(Buffer.from(page?.body ?? []).toString())).toEqual(store.events("System", { page: 1, limit: 3 }));
    expect(errors.map((frame) => frame?.head.code)).toEqual([
      "event_log_not_found",
      "event_log_entry_not_found",
      "unsupported_operation",
    ]);
  });

  it("splits a large answer into chunks", async () => {
    const gateway = await aGateway();
    gateway.open({ store: syntheticEventStore({ os: "windows", hostname: "h", records: 100, padBytes: 10_000 }) });
    const agent = await until(() => gateway.connections[0]);
    agent.socket.send(query("1", "eventlogs.events", { name: "System", page: 1, limit: 100 }));
    await until(() => agent.frames.at(-1)?.head.last === true);
    expect(agent.frames.map((frame) => frame?.head.seq)).toEqual([0, 1, 2, 3, 4]);
    const whole = Buffer.concat(agent.frames.map((frame) => frame?.body ?? new Uint8Array()));
    expect(JSON.parse(whole.toString()).events).toHaveLength(100);
  });

  it("drops cancelled queries, and stays silent or answers garbage when configured so", async () => {
    const gateway = await aGateway();
    gateway.open({ behave: "garbage" });
    (await until(() => gateway.connections[0])).socket.send(query("1", "eventlogs.list"));
    const garbage = await until(() => gateway.connections[0]?.frames[0]);
    expect(() => JSON.parse(Buffer.from(garbage.body).toString())).toThrow();
    const slow = gateway.open({ behave: "slow", slowMs: 200 });
    gateway.open({ behave: "silent" });
    await until(() => gateway.connections.length === 3);
    for (const { socket } of gateway.connections.slice(1)) socket.send(query("1", "eventlogs.list"));
    for (const { socket } of gateway.connections.slice(1)) socket.send(encodeAgentFrame({ type: "cancel", id: "1" }));
    await until(() => slow.cancelled === 1);
    expect(slow.answered).toBe(0);
  });

  it("reconnects after a close, and when its gateway asks it to", async () => {
    const gateway = await aGateway();
    const channel = gateway.open();
    (await until(() => gateway.connections[0])).socket.terminate();
    const second = await until(() => gateway.connections[1]);
    second.socket.send(encodeAgentFrame({ type: "reconnect", afterMs: 20 }));
    await until(() => gateway.connections[2]);
    await until(() => channel.connected);
    channel.stop();
    await until(() => !channel.connected);
    expect(second.socket.readyState).toBe(WebSocket.CLOSED);
  });
});
