export { answerOf, type EventFilter, type EventLog, type LiveEvent } from "@muster/agent";
export { type Channel, type ChannelBehaviour, type ChannelOptions, openChannel } from "./channel.ts";
export { type EventStore, type EventStoreOptions, syntheticEventStore } from "./event-store.ts";
export { type Fleet, startFleet } from "./fleet.ts";
export { defaultOptions, readOptions, type SimOptions } from "./options.ts";
