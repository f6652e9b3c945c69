import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { connect, createInbox, Events, type NatsConnection, nkeyAuthenticator } from "nats";
import { type NatsService, natsServices, type TestNats, testNats } from "./testing/test-nats.ts";

// The permission matrix, written apart from the file that it checks.
const emitters: NatsService[] = ["identity", "tenancy", "webhook-dispatcher"];
const tenancyReaders: NatsService[] = natsServices.filter((service) => service !== "gateway");
const owners = {
  AUDIT: "audit",
  EVENTS: "webhook-dispatcher",
  TENANCY: "tenancy",
  AUTH: "identity",
  CHECKPOINTS: "audit",
} as const;
const streams = Object.keys(owners) as (keyof typeof owners)[];
const publishers = {
  AUDIT: [...natsServices],
  EVENTS: emitters,
  TENANCY: ["tenancy"],
  AUTH: ["identity"],
  CHECKPOINTS: ["audit"],
} as Record<keyof typeof owners, NatsService[]>;
const readers = {
  AUDIT: ["audit"],
  EVENTS: ["webhook-dispatcher"],
  TENANCY: tenancyReaders,
  AUTH: ["gateway"],
  CHECKPOINTS: [],
} as Record<keyof typeof owners, NatsService[]>;

const org = "0192d1f0-0000-7000-8000-000000000001";
type Rule = { subject: string; may: readonly NatsService[] };

const publishRules: Rule[] = [
  ...natsServices.map((service) => ({ subject: `audit.${service}.7`, may: [service] })),
  { subject: "audit.identity", may: [] },
  { subject: "audit.identity.7.more", may: [] },
  { subject: "audit.stranger.0", may: [] },
  ...natsServices.map((service) => ({
    subject: `events.${service}.${org}.device.enrolled`,
    may: emitters.includes(service) ? [service] : [],
  })),
  { subject: `events.${org}.device.enrolled`, may: [] },
  { subject: "tenancy.organization.created", may: ["tenancy"] },
  { subject: "auth.session", may: ["identity"] },
  { subject: `checkpoints.${org}`, may: ["audit"] },
  { subject: `checkpoints.${org}.more`, may: [] },
  { subject: `agent.rpc.${org}`, may: ["device-logs"] },
  { subject: "agent.epoch", may: ["gateway"] },
  { subject: "changes.device.updated", may: ["tenancy"] },
  { subject: "webhooks.wake", may: ["webhook-dispatcher"] },
  ...natsServices.map((service) => ({ subject: `outbox.${service}`, may: service === "gateway" ? [] : [service] })),
  { subject: "anything.else", may: [] },
  { subject: "_INBOX.anybody", may: [] },
  ...natsServices.map((service) => ({ subject: `_INBOX_${service}.forged`, may: [] })),
  { subject: "$SYS.REQ.SERVER.PING", may: [] },
  { subject: "$JS.API.INFO", may: natsServices },
  { subject: "$JS.API.STREAM.NAMES", may: [] },
  { subject: "$JS.API.STREAM.LIST", may: [] },
  { subject: "$JS.API.STREAM.CREATE.OTHER", may: [] },
  ...streams.flatMap((stream): Rule[] => {
    const owner = owners[stream];
    const informed = [...new Set([owner, ...publishers[stream], ...readers[stream]])];
    return [
      { subject: `$JS.API.STREAM.CREATE.${stream}`, may: [owner] },
      { subject: `$JS.API.STREAM.UPDATE.${stream}`, may: [] },
      { subject: `$JS.API.STREAM.DELETE.${stream}`, may: [] },
      { subject: `$JS.API.STREAM.PURGE.${stream}`, may: [] },
      { subject: `$JS.API.STREAM.MSG.DELETE.${stream}`, may: [] },
      { subject: `$JS.API.STREAM.SNAPSHOT.${stream}`, may: [] },
      { subject: `$JS.API.STREAM.RESTORE.${stream}`, may: [] },
      { subject: `$JS.API.STREAM.INFO.${stream}`, may: informed },
      { subject: `$JS.API.STREAM.MSG.GET.${stream}`, may: informed },
      { subject: `$JS.API.CONSUMER.LIST.${stream}`, may: [] },
      { subject: `$JS.API.CONSUMER.CREATE.${stream}`, may: [] },
    ];
  }),
  // Durables on one's own stream are free; on TENANCY each bears its reader's name.
  ...natsServices.flatMap((service) => tenancyConsumer(service)),
  ...consumerRules("AUDIT", "seal-3", ["audit"], ["audit"]),
  ...consumerRules("EVENTS", "matcher", ["webhook-dispatcher"], ["webhook-dispatcher"]),
  ...consumerRules("AUTH", "X7", ["identity", "gateway"], ["gateway"]),
  ...consumerRules("CHECKPOINTS", "anybody", [], []),
];

function tenancyConsumer(service: NatsService): Rule[] {
  const own = tenancyReaders.includes(service) ? [service] : [];
  return consumerRules("TENANCY", service, [...new Set<NatsService>(["tenancy", ...own])], own);
}

function consumerRules(stream: string, name: string, manage: NatsService[], read: NatsService[]): Rule[] {
  return [
    { subject: `$JS.API.CONSUMER.CREATE.${stream}.${name}.some.filter`, may: manage },
    { subject: `$JS.API.CONSUMER.INFO.${stream}.${name}`, may: manage },
    { subject: `$JS.API.CONSUMER.DELETE.${stream}.${name}`, may: manage },
    { subject: `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, may: read },
    { subject: `$JS.ACK.${stream}.${name}.1.1.1.1.0`, may: read },
  ];
}

const subscribeRules: Rule[] = [
  { subject: ">", may: [] },
  { subject: "*", may: [] },
  { subject: "audit.>", may: [] },
  ...natsServices.map((service) => ({ subject: `audit.${service}.*`, may: [] })),
  { subject: "events.>", may: [] },
  { subject: "tenancy.>", may: [] },
  { subject: "auth.>", may: [] },
  { subject: "checkpoints.>", may: [] },
  { subject: `agent.rpc.${org}`, may: ["gateway"] },
  { subject: "agent.epoch", may: ["gateway"] },
  { subject: "changes.device.*", may: ["gateway"] },
  { subject: "changes.>", may: [] },
  { subject: "webhooks.wake", may: ["webhook-dispatcher"] },
  ...natsServices.map((service) => ({ subject: `outbox.${service}`, may: service === "gateway" ? [] : [service] })),
  { subject: "outbox.>", may: [] },
  { subject: "_INBOX.>", may: [] },
  ...natsServices.map((service) => ({ subject: `_INBOX_${service}.>`, may: [service] })),
  { subject: "$JS.API.>", may: [] },
  { subject: "$JS.ACK.>", may: [] },
  { subject: "$JS.EVENT.ADVISORY.>", may: [] },
  { subject: "$SYS.>", may: [] },
];

let nats: TestNats;
const connections = {} as Record<NatsService, NatsConnection>;
const violations = {} as Record<NatsService, Set<string>>;
const watchers = new Map<string, () => void>();
let sentinels = 0;

/** Resolves when everything that the server refused so far has been reported: refusals come in order. */
async function allRefusalsKnown(service: NatsService): Promise<void> {
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
    await allRefusalsKnown(service);
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
    await allRefusalsKnown(service);
    for (const { subject, may } of subscribeRules) {
      expect({ subject, allowed: !violations[service].has(`subscription ${subject}`) }).toEqual({
        subject,
        allowed: may.includes(service),
      });
    }
    for (const subscription of subscriptions) subscription.unsubscribe();
  });
});

describe("strangers", () => {
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
  it("lets the gateway reply to a request", async () => {
    const gateway = connections.gateway;
    const subject = `agent.rpc.${org}`;
    const subscription = gateway.subscribe(subject, { callback: (_error, message) => void message.respond("answer") });
    await gateway.flush();
    const answer = await connections["device-logs"].request(subject, "question", { timeout: 2_000 });
    expect(answer.string()).toBe("answer");
    subscription.unsubscribe();
  });
});
