// Before what imports pg.
import "./navigator.ts";

export { byIndexAlone } from "./by-index.ts";
export { type CheckSchemaOptions, checkSchema, type Privilege } from "./check-schema.ts";
export { type Database, type DatabaseOptions, openDatabase, type TxOptions } from "./database.ts";
export { type DeadLetter, deadLetters, type NewDeadLetter } from "./dead-letters.ts";
export { isConnectionFailure, isUniqueViolation } from "./failures.ts";
export {
  type IdempotentRequest,
  removeExpiredReplies,
  type StoredReply,
  storedReply,
  storeReply,
  takeIdempotencyKey,
} from "./idempotency.ts";
export { type Job, type JobState, jobs } from "./jobs.ts";
export { type MigrateOptions, migrate } from "./migrate.ts";
export { commonMigrations, type MigrationDir } from "./migrations.ts";
export type { OutboxMessage } from "./outbox.ts";
export { plainArray } from "./plain-array.ts";
export {
  type OutboxTransport,
  type OutboxWakeUp,
  type Promised,
  type Relay,
  type RelayOptions,
  startRelay,
} from "./relay.ts";
export { openReplica, primaryReader, type Reader, type Replica } from "./replica.ts";
export { type Replication, replicationOf } from "./replication.ts";
export { dutyRoles, type RoleNames, roleNames } from "./role-names.ts";
export { applyRoles } from "./roles.ts";
export { connectionOwner, type Who } from "./settings.ts";
export { type Standing, standingOf } from "./standing.ts";
export { StartRefused } from "./start-refused.ts";
export { type Query, type Statement, sql, sqlName } from "./statement.ts";
export type { Tx } from "./transaction.ts";
