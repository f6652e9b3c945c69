import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { connect, createInbox, Events, type NatsConnection, nkeyAuthenticator } from "nats";
import { org, publishRules, subscribeRules } from "./testing/permission-matrix.ts";
import { type NatsService, natsServices, type TestNats, testNats } from "./testing/test-nats.ts";
import { until } from "./testing/until.ts";

let nats: TestNats;
const connections = {} as Record<NatsService, NatsConnection>;
const violations = {} as Record<NatsService, Set<string>>;
const watchers = new Map<string, () => void>();
let sentinels = 0;

/** Resolves when everything that the server refused so far has been reported: refusals come in order. */
async function allRefusalsReported(service: NatsService): Promise<void> {
  const subject = `sentinel.${++sentinels}`;
  const reported = new Promise<void>((resolve) => watchers.set(subject, resolve));
  connections[service].publish(subject);
  await reported;
}

beforeAll(async () => {
  nats = await testNats();
  for (const service of natsServices) {
    const nc = await connect({
      servers: nats.url,
      inboxPrefix: `_INBOX_${service}`,
      authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seeds[service])),
    });
    connections[service] = nc;
    violations[service] = new Set();
    void (async () => {
      for await (const status of nc.status()) {
        const refused = status.permissionContext;
        if (status.type !== Events.Error || !refused) continue;
        violations[service].add(`${refused.operation} ${refused.subject}`);
        watchers.get(refused.subject)?.();
      }
    })();
  }
});

afterAll(async () => {
  for (const nc of Object.values(connections)) await nc.close();
  await nats.remove();
});

describe.each(natsServices.map((service) => [service]))("%s", (service) => {
  it("publishes what the matrix permits, and nothing else", async () => {
    const nc = connections[service];
    for (const { subject } of publishRules) nc.publish(subject, "", { reply: createInbox(`_INBOX_${service}`) });
    await allRefusalsReported(service);
    for (const { subject, may } of publishRules) {
      expect({ subject, allowed: !violations[service].has(`publish ${subject}`) }).toEqual({
        subject,
        allowed: may.includes(service),
      });
    }
  });

  it("subscribes to what the matrix permits, and to nothing else", async () => {
    const nc = connections[service];
    const subscriptions = subscribeRules.map(({ subject }) => nc.subscribe(subject, { callback: () => {} }));
    await allRefusalsReported(service);
    for (const { subject, may } of subscribeRules) {
      expect({ subject, allowed: !violations[service].has(`subscription ${subject}`) }).toEqual({
        subject,
        allowed: may.includes(service),
      });
    }
    for (const subscription of subscriptions) subscription.unsubscribe();
  });
});

describe("the server", () => {
  it("refuses a client without a key", async () => {
    await expect(connect({ servers: nats.url, reconnect: false })).rejects.toThrow(/authorization/i);
  });

  it("refuses a key that is not in the file", async () => {
    const { nkeys } = await import("nats");
    const authenticator = nkeyAuthenticator(nkeys.createUser().getSeed());
    await expect(connect({ servers: nats.url, reconnect: false, authenticator })).rejects.toThrow(/authorization/i);
  });
});

describe("live queries", () => {
  it("lets the gateway answer a request, and notifies the requester when no gateway listens", async () => {
    const [gateway, asking] = [connections.gateway, connections["device-logs"]];
    const replies: { code: number | undefined; text: string }[] = [];
    const answers = asking.subscribe("agent.answer.*", {
      callback: (_error, message) => void replies.push({ code: message.headers?.code, text: message.string() }),
    });
    asking.publish(`agent.rpc.${org}`, "nobody there", { reply: "agent.answer.1" });
    await until(() => replies.length === 1);
    const questions = gateway.subscribe(`agent.rpc.${org}`, {
      callback: (_error, message) => void message.respond("a"),
    });
    await gateway.flush();
    asking.publish(`agent.rpc.${org}`, "question", { reply: "agent.answer.2" });
    await until(() => replies.length === 2);
    expect(replies).toEqual([
      { code: 503, text: "" },
      { code: 0, text: "a" },
    ]);
    for (const subscription of [answers, questions]) subscription.unsubscribe();
  });
});
