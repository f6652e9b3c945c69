export { answerOf, type Channel, type ChannelBehaviour, type ChannelOptions, openChannel } from "./channel.ts";
export {
  type EventFilter,
  type EventLog,
  type EventStore,
  type EventStoreOptions,
  type LiveEvent,
  syntheticEventStore,
} from "./event-store.ts";
