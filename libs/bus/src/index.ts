export { generateNkey } from "./nkey.ts";
export { openBus } from "./open-bus.ts";
export { auditPartitions, streamOwner } from "./streams.ts";
export type {
  Bus,
  BusMessage,
  BusOptions,
  BusTls,
  ConsumeOptions,
  Consumer,
  Follower,
  FollowHandlers,
  FollowOptions,
  Handler,
  OutgoingMessage,
  Promised,
  Relay,
  StreamName,
  Transport,
} from "./types.ts";
