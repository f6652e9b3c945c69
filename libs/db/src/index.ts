// Before what imports pg.
import "./client/navigator.ts";

export { type CheckSchemaOptions, checkSchema, type Privilege } from "./checks/check-schema.ts";
export { byIndexAlone } from "./client/by-index.ts";
export { type Database, type DatabaseOptions, openDatabase, type TxOptions } from "./client/database.ts";
export { isConnectionFailure, isUniqueViolation } from "./client/failures.ts";
export type { OutboxMessage } from "./client/outbox-insert.ts";
export { plainArray } from "./client/plain-array.ts";
export { openReplica, primaryReader, type Reader, type Replica } from "./client/replica.ts";
export { type Replication, replicationOf } from "./client/replication.ts";
export { connectionOwner, type Who } from "./client/settings.ts";
export { StartRefused } from "./client/start-refused.ts";
export { type Query, type Statement, sql, sqlName } from "./client/statement.ts";
export type { Tx } from "./client/transaction.ts";
export { type MigrateOptions, migrate } from "./migrations/migrate.ts";
export { commonMigrations, type MigrationDir } from "./migrations/migrations.ts";
export { dutyRoles, type RoleNames, roleNames } from "./migrations/role-names.ts";
export { applyRoles } from "./migrations/roles.ts";
export {
  type OutboxTransport,
  type OutboxWakeUp,
  type Promised,
  type Relay,
  type RelayOptions,
  startRelay,
} from "./outbox/relay.ts";
export { type Standing, standingOf } from "./outbox/standing.ts";
export { type DeadLetter, deadLetters, type NewDeadLetter } from "./tables/dead-letters.ts";
export {
  type IdempotentRequest,
  removeExpiredReplies,
  type StoredReply,
  storedReply,
  storeReply,
  takeIdempotencyKey,
} from "./tables/idempotency.ts";
export { type Job, type JobState, jobs } from "./tables/jobs.ts";
