import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { AckPolicy, connect, type JetStreamManager, type NatsConnection, nkeyAuthenticator, StorageType } from "nats";
import { streamConfig } from "./streams.ts";
import { org, owners, publishRules, streams, subscribeRules } from "./testing/permission-matrix.ts";
import { type NatsService, natsServices, operatorPassword, type TestNats, testNats } from "./testing/test-nats.ts";
import { until } from "./testing/until.ts";

// What the server delivers by itself: to a consumer's subject, to a stream's republish, from sources and mirrors, and
// to the reply subject of any request. Each is tried, by each user, towards each subject of all others.

type StreamName = (typeof streams)[number];

let nats: TestNats;
const services = {} as Record<NatsService, NatsConnection>;
const operators = {} as Record<StreamName, { nc: NatsConnection; jsm: JetStreamManager }>;
/** `<service> on <pattern>: <text>` of all that arrived. */
let arrived: { service: NatsService; pattern: string; text: string }[] = [];

beforeAll(async () => {
  nats = await testNats({ withOperators: true });
  for (const service of natsServices) {
    const seed = new TextEncoder().encode(nats.seeds[service]);
    const inboxPrefix = `_INBOX_${service}`;
    services[service] = await connect({ servers: nats.url, inboxPrefix, authenticator: nkeyAuthenticator(seed) });
    for (const { subject: pattern, may } of subscribeRules) {
      if (!may.includes(service)) continue;
      services[service].subscribe(pattern, {
        // A refused subscription is for permissions.test.ts to report.
        callback: (error, message) => void (error || arrived.push({ service, pattern, text: message.string() })),
      });
    }
    await services[service].flush();
  }
  for (const stream of streams) {
    const nc = await connect({ servers: nats.url, user: `operator-${stream}`, pass: operatorPassword });
    operators[stream] = { nc, jsm: await nc.jetstreamManager() };
  }
});
beforeEach(async () => {
  for (const stream of streams) await makeStream(stream);
  await settled();
  arrived = [];
});
afterEach(async () => {
  for (const stream of streams) await operators[stream].jsm.streams.delete(stream);
});
afterAll(async () => {
  for (const nc of [...Object.values(services), ...Object.values(operators).map(({ nc }) => nc)]) await nc.close();
  await nats.remove();
});

const first = (stream: StreamName) =>
  ({ AUDIT: "audit.nobody.0", EVENTS: "events.nobody.x" })[stream as string] ?? `${stream.toLowerCase()}.nobody`;
/** The stream in memory: the server removes a deleted stream's files later, and may refuse its name until then. */
const inMemory = (stream: StreamName) => ({ ...streamConfig(stream, 1), storage: StorageType.Memory });
/** The stream as its owner creates it, with a message that nobody may remove. */
async function makeStream(stream: StreamName): Promise<void> {
  await operators[stream].jsm.streams.add(inMemory(stream));
  await operators[stream].nc.jetstream().publish(first(stream), "first");
}
const own = (service: NatsService) => publishRules.filter(({ may }) => may.includes(service)).map((r) => r.subject);
/** Subjects that another user may send or receive, and the service may not send. */
const targets = (service: NatsService) => {
  const sent = publishRules.filter(({ may }) => !may.includes(service)).map((rule) => rule.subject);
  const received = natsServices.flatMap((other) => [`_INBOX_${other}.x`, `outbox.${other}`]);
  return [...new Set([...sent, ...received, "stored.auth.session", "agent.answer.X7"])].filter(
    (subject) => !own(service).includes(subject) && subject !== `_INBOX_${service}.x`,
  );
};
const isCovered = (pattern: string, subject: string) => {
  const wanted = pattern.split(".");
  const tokens = subject.split(".");
  return wanted.every((token, n) => token === ">" || token === "*" || token === tokens[n]);
};

/** All that was sent has been handled: each server connection has answered, and no delivery waits at a subscriber. */
async function settled(): Promise<void> {
  const everybody = [...Object.values(services), ...Object.values(operators).map(({ nc }) => nc)];
  for (let round = 0; round < 3; round++) for (const nc of everybody) await nc.flush();
}

/** Whatever arrived at another user, save what the service may send there itself. */
const leaks = (service: NatsService) =>
  arrived.filter(({ service: receiver, pattern }) => {
    const sends = own(service).flatMap((subject) => [
      subject,
      ...(subject === "auth.session" ? [`stored.${subject}`] : []),
    ]);
    return receiver !== service && !sends.some((subject) => isCovered(pattern, subject));
  });

/** Nothing is in a stream under a subject that the service may not send; and nothing was removed or changed. */
async function expectStreamsUntouched(service: NatsService): Promise<void> {
  for (const stream of streams) {
    const { state, config } = await operators[stream].jsm.streams.info(stream, { subjects_filter: ">" });
    const foreign = Object.keys(state.subjects ?? {}).filter((s) => s !== first(stream) && !own(service).includes(s));
    const { subjects } = streamConfig(stream, 1);
    expect({ stream, foreign, firstSeq: state.first_seq, subjects: config.subjects }).toEqual({
      stream,
      foreign: [],
      firstSeq: 1,
      subjects,
    });
  }
}

describe.each(natsServices.map((service) => [service]))("%s", (service) => {
  let names = 0;
  const sendOwn = async (): Promise<void> => {
    for (const subject of own(service)) {
      if (!subject.startsWith("$JS.")) services[service].publish(subject, `forged by ${service}`);
    }
    await settled();
  };
  /** Creates the stream as the service would have it; true when the server did. */
  const create = async (stream: StreamName, change: object): Promise<boolean> => {
    const config = { ...inMemory(stream), ...change };
    const reply = await services[service]
      .request(`$JS.API.STREAM.CREATE.${stream}`, JSON.stringify(config), { timeout: 2_000 })
      .catch(() => null);
    return reply !== null && !("error" in reply.json<object>());
  };

  it("has nothing delivered to another user by a push consumer", async () => {
    const nc = services[service];
    await sendOwn();
    for (const stream of streams) {
      for (const target of targets(service)) {
        const name = `push${++names}`;
        const config = { durable_name: name, name, ack_policy: "none", deliver_subject: target, deliver_policy: "all" };
        const body = JSON.stringify({ stream_name: stream, config });
        nc.publish(`$JS.API.CONSUMER.CREATE.${stream}.${name}`, body);
        nc.publish(`$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${name}d`, body.replaceAll(name, `${name}d`));
        nc.publish(`$JS.API.CONSUMER.CREATE.${stream}`, body.replaceAll(name, `${name}e`));
      }
    }
    await sendOwn();
    await settled();
    for (const stream of streams) {
      // Where no interest in its subject is, a push consumer stays inactive.
      for await (const { delivered, config } of operators[stream].jsm.consumers.list(stream)) {
        if (config.deliver_subject?.startsWith("$JS.API.")) continue;
        expect({ target: config.deliver_subject, delivered: delivered.consumer_seq }).toMatchObject({ delivered: 0 });
      }
    }
    expect(leaks(service)).toEqual([]);
    await expectStreamsUntouched(service);
  });

  it("has nothing delivered to another user as a reply", async () => {
    const nc = services[service];
    await sendOwn();
    for (const stream of streams) {
      const order = { stream_name: stream, config: { durable_name: "pull", ack_policy: "explicit" } };
      nc.publish(`$JS.API.CONSUMER.DURABLE.CREATE.${stream}.pull`, JSON.stringify(order));
      await operators[stream].jsm.consumers.add(stream, { durable_name: service, ack_policy: AckPolicy.Explicit });
    }
    await nc.flush();
    for (const reply of targets(service)) {
      for (const subject of own(service)) nc.publish(subject, JSON.stringify({ seq: 1, batch: 1 }), { reply });
      for (const stream of streams) {
        for (const durable of ["pull", service])
          nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`, "", { reply });
        nc.publish(`$JS.API.STREAM.MSG.GET.${stream}`, JSON.stringify({ seq: 1 }), { reply });
        nc.publish(`$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ seq: 1 }), { reply });
      }
    }
    await settled();
    expect(leaks(service)).toEqual([]);
    await expectStreamsUntouched(service);
  });

  it("has nothing delivered to another user, or copied from one, by a stream that it creates", async () => {
    const mine = streams.filter((stream) => owners[stream] === service);
    for (const stream of mine) {
      const { jsm } = operators[stream];
      const others = streams.filter((other) => other !== stream);
      for (const target of targets(service)) {
        await jsm.streams.delete(stream);
        if (await create(stream, { republish: { src: ">", dest: target } })) await sendOwn();
        const copies = others.map((name) => ({ name, external: { api: "$JS.API", deliver: target } }));
        for (const change of [{ sources: copies }, { subjects: undefined, mirror: copies[0] }]) {
          await jsm.streams.delete(stream).catch(() => {});
          if (!(await create(stream, change))) continue;
          await settled();
          expect((await jsm.streams.info(stream)).state.messages).toBe(0);
        }
        await jsm.streams.delete(stream).catch(() => {});
        await makeStream(stream);
      }
    }
    // Owners of nothing create nothing.
    for (const stream of streams.filter((name) => !mine.includes(name))) expect(await create(stream, {})).toBe(false);
    expect(leaks(service)).toEqual([]);
    await expectStreamsUntouched(service);
  });
});

describe("a control", () => {
  it("receives what a service may send, so that silence above means something", async () => {
    services.identity.publish("auth.session", "allowed");
    services["device-logs"].publish(`agent.rpc.${org}`, "allowed");
    await until(() => arrived.filter(({ text }) => text === "allowed").length === 2);
    expect(arrived.map(({ service, pattern }) => `${service} ${pattern}`).sort()).toEqual([
      `gateway agent.rpc.${org}`,
      "gateway stored.auth.>",
    ]);
  });
});
