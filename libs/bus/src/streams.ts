import { nanos, RetentionPolicy, StorageType, type StreamConfig } from "nats";
import type { StreamName } from "./types.ts";

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** The service that creates, updates and re-creates the stream; no other service may (deploy/nats/permissions.conf). */
export const streamOwner: Record<StreamName, string> = {
  AUDIT: "audit",
  EVENTS: "webhook-dispatcher",
  TENANCY: "tenancy",
  AUTH: "identity",
  CHECKPOINTS: "audit",
};

const authSubjects = "auth.>";
const subjects: Record<StreamName, string[]> = {
  AUDIT: ["audit.*.*"],
  EVENTS: ["events.>"],
  TENANCY: ["tenancy.>"],
  AUTH: [authSubjects],
  CHECKPOINTS: ["checkpoints.*"],
};

/** Streams with durables of other services: their owner creates these, and answers `durables.<stream>.<service>`. */
export const sharedStreams: ReadonlySet<StreamName> = new Set(["TENANCY"]);

/** Where the server repeats a message of AUTH once it is stored, with its position in the headers. */
export const storedSubject = (subject: string) => `stored.${subject}`;

/** Partitions of AUDIT: subjects are `audit.<service>.<0..15>`. */
export const auditPartitions = 16;

export type OurStreamConfig = Pick<
  StreamConfig,
  | "name"
  | "subjects"
  | "retention"
  | "storage"
  | "num_replicas"
  | "max_age"
  | "max_msgs_per_subject"
  | "max_msg_size"
  | "duplicate_window"
  | "allow_direct"
  | "republish"
>;

/** Configuration of a stream. Nothing here needs more than NATS 2.9. */
export function streamConfig(name: StreamName, replicas: number): OurStreamConfig {
  return {
    name,
    subjects: subjects[name],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: replicas,
    max_age: nanos(maxAgeMs(name)),
    // The newest one of each chain is the evidence of a removed tail, however old it is.
    max_msgs_per_subject: name === "CHECKPOINTS" ? 24 : -1,
    max_msg_size: -1,
    duplicate_window: nanos(2 * minuteMs),
    allow_direct: true,
    ...(name === "AUTH" ? { republish: { src: authSubjects, dest: storedSubject(authSubjects) } } : {}),
  };
}

function maxAgeMs(name: StreamName): number {
  switch (name) {
    case "AUTH":
      return 60 * minuteMs;
    case "CHECKPOINTS":
      return 0;
    default:
      return 7 * dayMs;
  }
}
