import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { type Bus, openBus } from "@muster/bus";
import { AppError, createLogger, decodeAgentFrame, encodeAgentFrame, uuidv7 } from "@muster/kit";
import { type TestNats, testNats, until } from "@muster/testing";
import WebSocket from "ws";
import type { Agent } from "../route/credential.ts";
import { type ChannelHub, createChannelHub, type HubOptions } from "./hub.ts";

const log = createLogger("test", "silent");
let nats: TestNats;
let deviceLogs: Bus;
let first: Bus;
let second: Bus;
const servers: Server[] = [];
const sockets: WebSocket[] = [];

beforeAll(async () => {
  nats = await testNats();
  const connect = (name: "device-logs" | "gateway") =>
    openBus({ servers: nats.url, seed: nats.seeds[name], name, replicas: 1, log });
  [deviceLogs, first, second] = await Promise.all([connect("device-logs"), connect("gateway"), connect("gateway")]);
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.terminate();
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  for (const bus of [deviceLogs, first, second]) await bus?.close();
  await nats?.remove();
});

/** A hub of a server that admits every client as the device that the path names. */
async function hubOn(bus: Bus | null, change: Partial<HubOptions> = {}) {
  const hub: ChannelHub = createChannelHub({ admit: (digest) => agentOf(digest), log, ...change });
  if (bus) {
    hub.attach(bus.relay);
    await bus.relay.flush();
  }
  const server = createServer();
  servers.push(server);
  server.on("upgrade", (request, socket, head) => {
    const deviceId = (request.url ?? "").slice(1);
    hub.upgrade(request, socket, head, (channel) => hub.open(channel, agentOf(deviceId), deviceId));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    hub,
    async connect(deviceId: string) {
      const socket = new WebSocket(`ws://127.0.0.1:${port}/${deviceId}`);
      sockets.push(socket);
      const frames: { head: Record<string, unknown>; body: Uint8Array }[] = [];
      const closed: number[] = [];
      socket.on("message", (data: Buffer) => {
        const frame = decodeAgentFrame(data);
        if (frame) frames.push(frame);
      });
      socket.on("close", (code) => void closed.push(code));
      socket.on("error", () => {});
      await until("the connection", () => socket.readyState !== WebSocket.CONNECTING);
      await bus?.relay.flush();
      const say = (head: object, body?: Uint8Array) => socket.send(encodeAgentFrame(head as never, body));
      return { socket, frames, closed, say };
    },
  };
}

const agentOf = (deviceId: string) => ({ kind: "agent", id: deviceId }) as Agent;

/** Sends a query as device-logs does, and collects the replies. */
function queryDevice(deviceId: string, head: object = {}) {
  const answers: { head: Record<string, unknown>; body: Uint8Array }[] = [];
  let nobody = 0;
  const id = uuidv7();
  const query = { type: "query", id, timeoutMs: 10_000, operation: "eventlogs.list", params: {}, ...head };
  const reply = deviceLogs.relay.request(`agent.rpc.${deviceId}`, encodeAgentFrame(query), {
    answer(bytes) {
      const frame = decodeAgentFrame(bytes);
      if (frame) answers.push({ head: frame.head, body: Uint8Array.from(frame.body) });
    },
    nobody: () => void nobody++,
  });
  return {
    id,
    answers,
    types: () => answers.map(({ head: { type } }) => type),
    nobody: () => nobody > 0,
    cancel() {
      deviceLogs.relay.publish(`agent.rpc.${deviceId}`, encodeAgentFrame({ type: "cancel", id }));
      reply.stop();
    },
  };
}

describe("a channel", () => {
  it("carries a query to the agent and its chunks back, small ones merged", async () => {
    const deviceId = uuidv7();
    const agent = await (await hubOn(first)).connect(deviceId);
    const question = queryDevice(deviceId, { params: { name: "System" }, principal: { type: "user", id: "u" } });
    const { head } = await until("the question", () => agent.frames[0]);
    expect(head).toEqual({
      type: "query",
      id: question.id,
      timeoutMs: 10_000,
      operation: "eventlogs.list",
      params: { name: "System" },
      principal: { type: "user", id: "u" },
    });
    const bytes = Buffer.alloc(600_000, "abcdefgh");
    const size = 10_000;
    for (let seq = 0; seq * size < bytes.length; seq++) {
      const last = (seq + 1) * size >= bytes.length;
      agent.say({ type: "chunk", id: question.id, seq, last }, bytes.subarray(seq * size, (seq + 1) * size));
    }
    await until("the answer", () => question.answers.at(-1)?.head.last === true);
    expect(question.types()).toEqual(["accepted", "chunk", "chunk", "chunk"]);
    expect(Buffer.concat(question.answers.map(({ body }) => body)).equals(bytes)).toBe(true);
  });

  it("carries 8 MiB in chunks of any size, within the number of messages that NATS permits as replies", async () => {
    const deviceId = uuidv7();
    const agent = await (await hubOn(first)).connect(deviceId);
    const question = queryDevice(deviceId);
    await until("the question", () => agent.frames[0]);
    const bytes = Buffer.alloc(8 * 1024 * 1024, "0123456789");
    const size = 140_000;
    for (let seq = 0; seq * size < bytes.length; seq++) {
      const last = (seq + 1) * size >= bytes.length;
      agent.say({ type: "chunk", id: question.id, seq, last }, bytes.subarray(seq * size, (seq + 1) * size));
    }
    await until("the answer", () => question.answers.at(-1)?.head.last === true);
    // As gateway/src/channel/README.md says, with room for the first frame.
    expect(question.answers.length).toBeLessThan(64);
    expect(Buffer.concat(question.answers.map(({ body }) => body)).equals(bytes)).toBe(true);
  });

  it("refuses the fifth query immediately, and accepts another when one is answered or cancelled", async () => {
    const deviceId = uuidv7();
    const agent = await (await hubOn(first)).connect(deviceId);
    const questions = Array.from({ length: 5 }, () => queryDevice(deviceId));
    await until("the refusal", () => questions[4]?.answers[0]?.head.code === "device_busy");
    await until("four questions", () => agent.frames.length === 4);
    questions[0]?.cancel();
    await until("the cancel", () =>
      agent.frames.some(({ head: { type, id } }) => type === "cancel" && id === questions[0]?.id),
    );
    const next = queryDevice(deviceId);
    await until("the next", () => agent.frames.some(({ head: { id } }) => id === next.id));
  });

  it("notifies the caller when the agent disconnects, sends malformed frames, or sends chunks out of order", async () => {
    const { connect } = await hubOn(first);
    const failing = async (how: (agent: Awaited<ReturnType<typeof connect>>, id: string) => void) => {
      const deviceId = uuidv7();
      const agent = await connect(deviceId);
      const question = queryDevice(deviceId);
      await until("the question", () => agent.frames.length > 0);
      how(agent, question.id);
      const error = await until("the error", () => question.answers.find(({ head: { type } }) => type === "error"));
      return { code: error.head.code, agent };
    };
    expect((await failing(({ socket }) => socket.terminate())).code).toBe("connection_lost");
    const rubbish = await failing(({ socket }) => socket.send("no frame"));
    expect(rubbish.code).toBe("device_error");
    await until("the close", () => rubbish.agent.closed.includes(1008));
    expect(
      (await failing(({ say }, id) => say({ type: "chunk", id, seq: 3, last: true }, Buffer.from("x")))).code,
    ).toBe("device_error");
    const huge = await failing(({ socket }) => socket.send(Buffer.alloc(300_000)));
    expect(huge.code).toBe("connection_lost");
  });

  it.each([
    ["an object", { toString: 1 }],
    ["a list", [[]]],
    ["null", null],
    ["our own", "connection_lost"],
  ])("treats an error code that is %s as the device's failure, and continues", async (_, code) => {
    const deviceId = uuidv7();
    const { connect } = await hubOn(first);
    const agent = await connect(deviceId);
    const question = queryDevice(deviceId);
    await until("the question", () => agent.frames.length > 0);
    agent.say({ type: "error", id: question.id, code });
    const error = await until("the error", () => question.answers.find(({ head: { type } }) => type === "error"));
    expect(error.head.code).toBe("device_error");
    expect(agent.closed).toEqual([]);
  });

  it("accepts an answer in small pieces, and rejects one that never ends", async () => {
    const deviceId = uuidv7();
    const agent = await (await hubOn(first)).connect(deviceId);
    const [small, endless] = [queryDevice(deviceId), queryDevice(deviceId)];
    await until("the questions", () => agent.frames.length === 2);
    for (let seq = 0; seq < 1_000; seq++) {
      agent.say({ type: "chunk", id: small.id, seq, last: seq === 999 }, Buffer.from("x"));
    }
    agent.say({ type: "chunk", id: endless.id, seq: 0, last: false });
    await until("the answer", () => small.answers.at(-1)?.head.last === true);
    await until("the error", () => endless.answers.at(-1)?.head.code === "device_error");
  });

  it("closes when the agent floods the gateway with unsolicited frames, also over several connections", async () => {
    const deviceId = uuidv7();
    const { connect } = await hubOn(first);
    const flooding = await connect(deviceId);
    for (let i = 0; i < 10_001; i++) flooding.say({ type: "chunk", id: "nobody", seq: i, last: false });
    await until("the close", () => flooding.closed.includes(1008));
    const again = await connect(deviceId);
    again.say({ type: "greeting" });
    await until("the second close", () => again.closed.includes(1008));
    const other = await connect(uuidv7());
    other.say({ type: "greeting" });
    expect(other.closed).toEqual([]);
  });

  it("sends the caller a keep-alive every two seconds", async () => {
    const deviceId = uuidv7();
    await (await hubOn(first)).connect(deviceId);
    const question = queryDevice(deviceId);
    await until("two signs of life", () => question.types().filter((type) => type === "working").length >= 2);
  });

  it("has no subscriber while the agent is not connected", async () => {
    const deviceId = uuidv7();
    const agent = await (await hubOn(first)).connect(deviceId);
    agent.socket.close();
    const questions: ReturnType<typeof queryDevice>[] = [];
    await until("the channel to be gone", () => {
      questions.push(queryDevice(deviceId));
      return questions.some((question) => question.nobody());
    });
  });
});

describe("several connections of one device", () => {
  it("are reduced to the newest, at one gateway and across two", async () => {
    const deviceId = uuidv7();
    const [here, there] = [await hubOn(first), await hubOn(second)];
    const [a, b] = [await here.connect(deviceId), await here.connect(deviceId)];
    await until("the first to be closed", () => a.closed.includes(4000));
    const c = await there.connect(deviceId);
    await until("the second to be closed", () => b.closed.includes(4000));
    const d = await here.connect(deviceId);
    await until("the third to be closed", () => c.closed.includes(4000));
    expect([d.closed, here.hub.size, there.hub.size]).toEqual([[], 1, 0]);
    const question = queryDevice(deviceId);
    await until("the question", () => d.frames.length === 1);
    d.say({ type: "error", id: question.id, code: "event_log_not_found" });
    await until("the answer", () => question.answers.some(({ head: { code } }) => code === "event_log_not_found"));
  });

  it("are ordered also when they were opened before the bus was connected", async () => {
    const deviceId = uuidv7();
    const [early, late] = [await hubOn(null), await hubOn(second)];
    const older = await early.connect(deviceId);
    const newer = await late.connect(deviceId);
    early.hub.attach(first.relay);
    await until("one to be closed", () => older.closed.length + newer.closed.length === 1);
    expect(older.closed.length + newer.closed.length).toBe(1);
    const question = queryDevice(deviceId);
    await until("the question", () => older.frames.length + newer.frames.length === 1);
    expect(question.nobody()).toBe(false);
  });
});

describe("an announced epoch", () => {
  const dayMs = 86_400_000;

  it.each([
    ["the largest that is exact", () => Number.MAX_SAFE_INTEGER],
    ["beyond the clock and a day", () => Date.now() + dayMs + 60_000],
    ["no whole number", () => 1.5],
    ["a text", () => "9"],
  ])("closes no channel, and raises no later epoch: %s", async (_, epoch) => {
    const deviceId = uuidv7();
    const { connect } = await hubOn(first);
    const agent = await connect(deviceId);
    const announce = (value: unknown) => {
      const epochs = [[deviceId, value]];
      second.relay.publish("agent.epoch", Buffer.from(JSON.stringify({ gateway: uuidv7(), epochs })));
    };
    announce(epoch());
    await second.relay.flush();
    const question = queryDevice(deviceId);
    await until("the question", () => agent.frames.length > 0);
    agent.say({ type: "chunk", id: question.id, seq: 0, last: true });
    const answer = await until("the answer", () => question.answers.find(({ head: { type } }) => type === "chunk"));
    expect(Number(answer.head.epoch)).toBeLessThan(Date.now() + 60_000);
    expect(agent.closed).toEqual([]);
    // One within a day is another gateway whose clock is ahead.
    announce(Date.now() + dayMs - 60_000);
    await until("the channel to be replaced", () => agent.closed.includes(4000));
    const next = await connect(deviceId);
    const again = queryDevice(deviceId);
    await until("the question again", () => next.frames.length > 0);
    next.say({ type: "chunk", id: again.id, seq: 0, last: true });
    const later = await until("the answer again", () => again.answers.find(({ head: { type } }) => type === "chunk"));
    expect(Number(later.head.epoch)).toBeLessThan(Date.now() + dayMs);
  });
});

describe("the hub", () => {
  // Tests that wait for seconds run concurrently.
  it.concurrent("pings, and closes a connection that does not respond", async () => {
    const { hub, connect } = await hubOn(first, { pingMs: 500, deadMs: 3_000 });
    const [alive, dead] = [await connect(uuidv7()), await connect(uuidv7())];
    // Reads everything and answers nothing, pings included.
    (dead.socket as unknown as { _socket: { pause(): void } })._socket.pause();
    await until("the dead one to be gone", () => hub.size === 1);
    expect(alive.closed).toEqual([]);
  });

  it("closes channels that are no longer admitted, and no other, also while identity is unavailable", async () => {
    const refused = new Set<string>();
    const away = new Set<string>();
    const { hub, connect } = await hubOn(first, {
      admit(digest) {
        if (refused.has(digest)) throw new AppError("agent_token_revoked", "revoked");
        if (away.has(digest)) throw new AppError("unavailable", "away");
        return agentOf(digest);
      },
    });
    const [a, b, c] = [uuidv7(), uuidv7(), uuidv7()];
    const channels = [await connect(a), await connect(b), await connect(c)];
    refused.add(a);
    away.add(b);
    hub.recheckAll();
    await until("the revoked one to be closed", () => channels[0]?.closed.includes(4001));
    expect([channels[1]?.closed, channels[2]?.closed, hub.size]).toEqual([[], [], 2]);
    // A change of the tenant may be what refuses them.
    hub.recheck(({ agent }) => agent.id === b || agent.id === c);
    await until("the one without an answer to be closed", () => channels[1]?.closed.includes(1013));
    expect([channels[2]?.closed, hub.size]).toEqual([[], 1]);
  });

  it("checks again the one device that changed, and for no other", async () => {
    const checked: string[] = [];
    const { hub, connect } = await hubOn(first, {
      admit(digest) {
        checked.push(digest);
        return agentOf(digest);
      },
    });
    const ids = [uuidv7(), uuidv7(), uuidv7()];
    for (const id of ids) await connect(id);
    await until("the checks of new channels", () => checked.length >= ids.length);
    const before = checked.length;
    hub.recheckDevice(ids[1] as string);
    hub.recheckDevice(uuidv7());
    await until("the check", () => checked.length > before);
    expect(checked.slice(before)).toEqual([ids[1]]);
  });

  it.each<[string, () => Agent | Promise<Agent>]>([
    [
      "is unavailable",
      () => {
        throw new AppError("unavailable", "away");
      },
    ],
    ["does not answer", () => new Promise(() => {})],
  ])("closes the channel of a device that changed while identity %s, and no other", async (_what, answer) => {
    let isAway = false;
    const { hub, connect } = await hubOn(first, {
      waitMs: 50,
      admit: (digest) => (isAway ? answer() : agentOf(digest)),
    });
    const [changed, other] = [uuidv7(), uuidv7()];
    const channels = [await connect(changed), await connect(other)];
    isAway = true;
    hub.recheckDevice(changed);
    await until("it to be closed", () => channels[0]?.closed.includes(1013));
    expect([channels[1]?.closed, hub.size]).toEqual([[], 1]);
  });

  it("closes all channels when revocations no longer wait for this gateway", async () => {
    const { hub, connect } = await hubOn(first);
    const channels = [await connect(uuidv7()), await connect(uuidv7())];
    hub.closeAll();
    await until("both to be closed", () => channels.every(({ closed }) => closed.includes(1013)));
    expect(hub.size).toBe(0);
  });

  it("closes a channel whose token was revoked while the channel was being opened", async () => {
    let revoked = false;
    const { hub, connect } = await hubOn(first, {
      admit(digest) {
        if (revoked) throw new AppError("agent_token_revoked", "revoked");
        return agentOf(digest);
      },
    });
    // The gateway received the revocation before the channel existed.
    revoked = true;
    hub.recheck(() => true);
    const channel = await connect(uuidv7());
    await until("it to be closed", () => channel.closed.includes(4001));
  });

  it.concurrent("spreads its agents' reconnects over time when it stops, and closes the remaining ones", async () => {
    const { hub, connect } = await hubOn(first);
    const [polite, stubborn] = [await connect(uuidv7()), await connect(uuidv7())];
    polite.socket.on("message", (data: Buffer) => {
      if (decodeAgentFrame(data)?.head.type === "reconnect") polite.socket.close();
    });
    await hub.drain(300);
    expect(hub.size).toBe(0);
    await until("both to be gone", () => polite.closed.length + stubborn.closed.length === 2);
    expect(stubborn.frames[0]?.head).toMatchObject({ type: "reconnect", afterMs: expect.any(Number) });
    expect(Number(stubborn.frames[0]?.head.afterMs)).toBeLessThan(300);
  });
});
