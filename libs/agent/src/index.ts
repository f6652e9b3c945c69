export type {
  Agent,
  AgentDeps,
  AgentSettings,
  AgentState,
  Call,
  Job,
} from "./agent.ts";
export { type Api, type ApiOptions, type ApiReply, type CallOptions, createApi } from "./api.ts";
export { type Backoff, backoffWith } from "./backoff.ts";
export { type AnswerQuery, type Channel, type ChannelOptions, openChannel } from "./channel.ts";
export { digestOf, downloadOffer, sizeOf } from "./download.ts";
export { proxyFor } from "./env-proxy.ts";
export {
  type Answer,
  answerOf,
  type EventFilter,
  type EventLog,
  type EventPage,
  type EventStore,
  type LiveEvent,
} from "./event-logs.ts";
export type { AfterUpdate, Host, UpdateReport } from "./host.ts";
export type { AgentIdentity } from "./identity.ts";
export {
  type AcceptedOffer,
  type Component,
  checkOffer,
  components,
  type Manifest,
  type ManifestArtifact,
  type Offer,
  openManifest,
  parseManifest,
  UpdateRefused,
} from "./offer.ts";
export { createAgent } from "./running-agent.ts";
export { type Shipment, type ShipperDeps, ship } from "./shipper.ts";
export { openSpool, type Spool, type SpoolBatch } from "./spool.ts";
export { createStopping, type Stopping } from "./stopping.ts";
export { canonicalVersion, isSameVersion } from "./version.ts";
