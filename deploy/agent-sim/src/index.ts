export { answerOf, type Channel, type ChannelBehaviour, type ChannelOptions, openChannel } from "./channel.ts";
export {
  type EventFilter,
  type EventLog,
  type EventStore,
  type EventStoreOptions,
  type LiveEvent,
  syntheticEventStore,
} from "./event-store.ts";
export { type Fleet, startFleet } from "./fleet.ts";
export { defaultOptions, readOptions, type SimOptions } from "./options.ts";
