export {
  type AgentFrame,
  agentChunkBytes,
  agentQueriesMax,
  agentReplyBytes,
  decodeAgentFrame,
  encodeAgentFrame,
} from "./agent-frame.ts";
export { apiKeyPrefix, looksLikeApiKey, newApiKeyText } from "./api-key-text.ts";
export {
  AppError,
  type ErrorCode,
  errorCodes,
  type FieldErrors,
  isErrorCode,
  sessionEnded,
  validationError,
} from "./app-error.ts";
export { atMostEvery } from "./at-most-every.ts";
export { type AuditCsvColumn, auditCsvColumns } from "./audit-columns.ts";
export {
  type Actor,
  type ActorType,
  type CallContext,
  type Caller,
  type OrgAccess,
  type RequestMeta,
  type Scope,
  systemCaller,
  zeroUuid,
} from "./caller.ts";
export { canonicalCidr } from "./cidr.ts";
export { clientNetwork } from "./client-network.ts";
export {
  baseUrls,
  busSettings,
  ConfigError,
  flag,
  loadConfig,
  mfaMaxAgeMinutes,
  packageVersion,
  preparedStatements,
  processSettings,
  redactConfig,
  rpcTlsSettings,
  serviceSettings,
  startConfig,
  whole,
} from "./config.ts";
export { type Counts, createCounts, shareIn, shareOf } from "./counts.ts";
export { type Coupling, coupled, orderErrors, sharedValues } from "./couplings.ts";
export { decodeCursor, encodeCursor, foreignCursor } from "./cursor.ts";
export { type EventType, eventTypes, isEventType, testEventType } from "./event-types.ts";
export { noteExemplar } from "./exemplars.ts";
export { type FairSlots, fairSlots, type Wanted } from "./fair-slots.ts";
export {
  attachment,
  attachmentLine,
  cookieLine,
  cookiePair,
  cspLine,
  cspOrigin,
  entityTag,
  HeaderError,
  isLocation,
  locationLine,
  weakEntityTag,
} from "./header-values.ts";
export { shrinkWhenIdle } from "./idle-memory.ts";
export { changedNumbers, parseKeepingNumbers } from "./json-numbers.ts";
export { memberText } from "./json-text.ts";
export { onLeftByNpm } from "./left-by-npm.ts";
export { type Process, runProcess, type Stop } from "./lifecycle.ts";
export { createLogger, type Logger } from "./logger.ts";
export { counter, gauge, histogram } from "./metrics.ts";
export { nameError, nameMax } from "./name.ts";
export { clampPage, type Page } from "./page.ts";
export { type Permission, permissionSentences, permissions } from "./permissions.ts";
export { type PublicAddressSettings, publicAddresses, publicAddressSettings } from "./public-addresses.ts";
export { Readiness } from "./readiness.ts";
export { keepWorking, type Repeating, repeatEvery } from "./repeat.ts";
export { isReservedHeader, maxRequestHeaders, type RequestHeader, requestHeaderErrors } from "./request-headers.ts";
export { backoffMs, sleep } from "./retry.ts";
export { followRoots, nextRoot, rootNumberOf, type TrustedRoot } from "./root-note.ts";
export { createRoundRobin, type RoundRobin } from "./round-robin.ts";
export {
  anyScope,
  isKeyScope,
  type KeyScope,
  keyScopes,
  permissionsOfScope,
  scopePermissions,
  scopesOpen,
} from "./scopes.ts";
export { isSealed, type SecretBox, secretBox } from "./secret-box.ts";
export { type ServiceName, serviceNames } from "./service-names.ts";
export {
  addresses,
  databaseUrl,
  listenHost,
  natsServers,
  networks,
  nkeySeed,
  privateKeys,
  sealingKeys,
  signingKeys,
  verifierKeys,
  webUrl,
} from "./setting-formats.ts";
export {
  generateNoteKey,
  NoteError,
  type NoteSigner,
  type NoteVerifier,
  noteKeys,
  type OpenedNote,
  openNote,
  parseVerifier,
  signNote,
} from "./signed-note.ts";
export { type SecretStrength, signingSecretError, strengthOfSealed } from "./signing-secret.ts";
export { storableJson, storableText, textError } from "./storable.ts";
export { longerThan } from "./text-length.ts";
export { isTimezone } from "./timezone.ts";
export { busTls, type TlsFiles, type TlsMaterial, type TlsPaths, tlsFiles } from "./tls-files.ts";
export {
  activeTracer,
  endSpan,
  flushTelemetry,
  SpanKind,
  startClientSpan,
  startFollowing,
  startSampledChild,
  startServerSpan,
  traceparentOf,
  unsampledTraceparent,
  withSpan,
} from "./tracing.ts";
export { withoutTrailing } from "./trailing.ts";
export { isUuid, uuidv7 } from "./uuid.ts";
