import { type NatsService, natsServices } from "./test-nats.ts";

// The permission matrix, written apart from the file that it checks (deploy/nats/permissions.conf).

const emitters: NatsService[] = ["identity", "tenancy", "audit", "webhook-dispatcher"];
const tenancyReaders: NatsService[] = natsServices.filter((service) => service !== "gateway");
export const owners = {
  AUDIT: "audit",
  EVENTS: "webhook-dispatcher",
  TENANCY: "tenancy",
  AUTH: "identity",
  CHECKPOINTS: "audit",
} as const;
export const streams = Object.keys(owners) as (keyof typeof owners)[];
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

export const org = "0192d1f0-0000-7000-8000-000000000001";
export type Rule = { subject: string; may: readonly NatsService[] };

export const publishRules: Rule[] = [
  ...natsServices.map((service) => ({ subject: `audit.${service}.7`, may: [service] })),
  { subject: "audit.identity", may: [] },
  { subject: "audit.identity.7.more", may: [] },
  { subject: "audit.foreign.0", may: [] },
  ...natsServices.map((service) => ({
    subject: `events.${service}.${org}.device.enrolled`,
    may: emitters.includes(service) ? [service] : [],
  })),
  { subject: `events.${org}.device.enrolled`, may: [] },
  { subject: "tenancy.organization.created", may: ["tenancy"] },
  { subject: "auth.session", may: ["identity"] },
  { subject: `checkpoints.${org}`, may: ["audit"] },
  { subject: `checkpoints.${org}.more`, may: [] },
  { subject: `stored.auth.session`, may: [] },
  { subject: `agent.rpc.${org}`, may: ["device-logs"] },
  { subject: "agent.answer.X7", may: ["gateway"] },
  { subject: "agent.epoch", may: ["gateway"] },
  { subject: "changes.device.updated", may: ["tenancy"] },
  ...natsServices.map((service) => ({
    subject: `durables.TENANCY.${service}`,
    may: service === "gateway" || service === "tenancy" ? [] : [service],
  })),
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
      { subject: `$JS.API.DIRECT.GET.${stream}`, may: [] },
    ];
  }),
  // Only the owner creates durables. Those on its own stream it names freely; on TENANCY each bears its reader's name.
  ...natsServices.flatMap((service) => tenancyConsumer(service)),
  ...consumerRules("AUDIT", "seal-3", { owner: ["audit"], reader: ["audit"] }),
  ...consumerRules("EVENTS", "matcher", { owner: ["webhook-dispatcher"], reader: ["webhook-dispatcher"] }),
  ...consumerRules("AUTH", "X7", { owner: [], reader: [] }),
  ...consumerRules("CHECKPOINTS", "anybody", { owner: [], reader: [] }),
];

function tenancyConsumer(service: NatsService): Rule[] {
  const reader = tenancyReaders.includes(service) ? [service] : [];
  return consumerRules("TENANCY", service, { owner: ["tenancy"], reader });
}

function consumerRules(stream: string, name: string, who: { owner: NatsService[]; reader: NatsService[] }): Rule[] {
  const { owner, reader } = who;
  return [
    { subject: `$JS.API.CONSUMER.CREATE.${stream}.${name}.some.filter`, may: owner },
    { subject: `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${name}`, may: owner },
    { subject: `$JS.API.CONSUMER.DELETE.${stream}.${name}`, may: owner },
    { subject: `$JS.API.CONSUMER.INFO.${stream}.${name}`, may: [...new Set([...owner, ...reader])] },
    { subject: `$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, may: reader },
    { subject: `$JS.ACK.${stream}.${name}.1.1.1.1.0`, may: reader },
  ];
}

export const subscribeRules: Rule[] = [
  { subject: ">", may: [] },
  { subject: "*", may: [] },
  { subject: "audit.>", may: [] },
  ...natsServices.map((service) => ({ subject: `audit.${service}.*`, may: [] })),
  { subject: "events.>", may: [] },
  { subject: "tenancy.>", may: [] },
  { subject: "auth.>", may: [] },
  { subject: "checkpoints.>", may: [] },
  { subject: "stored.auth.>", may: ["gateway"] },
  { subject: "stored.>", may: [] },
  { subject: `agent.rpc.${org}`, may: ["gateway"] },
  { subject: "agent.answer.X7", may: ["device-logs"] },
  { subject: "agent.epoch", may: ["gateway"] },
  { subject: "changes.device.*", may: ["gateway"] },
  { subject: "durables.TENANCY.*", may: ["tenancy"] },
  { subject: "durables.>", may: [] },
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
