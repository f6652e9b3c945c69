export {
  type Actor,
  type ActorType,
  type CallContext,
  type Caller,
  databaseScope,
  type OrgAccess,
  ownMeta,
  type RequestMeta,
  type Scope,
  systemCaller,
  zeroUuid,
} from "./caller/caller.ts";
export { canonicalCidr } from "./caller/cidr.ts";
export { clientNetwork } from "./caller/client-network.ts";
export { type Permission, permissionSentences, permissions } from "./caller/permissions.ts";
export {
  isPortalCapability,
  isReadOnly,
  type PortalAuthor,
  type PortalCapability,
  type PortalSession,
  portalCapabilities,
} from "./caller/portal.ts";
export {
  anyScope,
  includesScope,
  isKeyScope,
  type KeyScope,
  keyScopes,
  permissionsOfScope,
  scopePermissions,
  scopesOfAny,
  scopesOpen,
  servedScopes,
} from "./caller/scopes.ts";
export { followRoots, nextRoot, rootNumberOf, type TrustedRoot } from "./crypto/root-note.ts";
export { isSealed, type SecretBox, secretBox } from "./crypto/secret-box.ts";
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
} from "./crypto/signed-note.ts";
export { type SecretStrength, signingSecretError, strengthOfSealed } from "./crypto/signing-secret.ts";
export {
  AppError,
  type ErrorCode,
  errorCodes,
  type FieldErrors,
  invalidJson,
  isErrorCode,
  sessionEnded,
  validationError,
} from "./errors/app-error.ts";
export { codeOf, errorOf, messageOf } from "./errors/caught.ts";
export { type Counts, createCounts, shareIn, shareOf } from "./fairness/counts.ts";
export { type FairSlots, fairSlots, type Wanted } from "./fairness/fair-slots.ts";
export { createRoundRobin, type RoundRobin } from "./fairness/round-robin.ts";
export {
  type AgentFrame,
  agentChunkBytes,
  agentQueriesMax,
  agentReplyBytes,
  decodeAgentFrame,
  encodeAgentFrame,
} from "./formats/agent-frame.ts";
export { type AlertTemplate, alertTemplates } from "./formats/alert-templates.ts";
export { apiKeyPrefix, looksLikeApiKey, newApiKeyText } from "./formats/api-key-text.ts";
export { type AttentionKind, attentionKinds } from "./formats/attention-kinds.ts";
export { type AuditCsvColumn, auditCsvColumns } from "./formats/audit-columns.ts";
export { decodeCursor, encodeCursor, foreignCursor } from "./formats/cursor.ts";
export {
  alertFiredType,
  type CustomEventType,
  customEventType,
  customEventTypeMax,
  type EventType,
  eventTypes,
  healthChangedType,
  isCustomEventType,
  isEventPattern,
  isEventType,
  isNamedOnly,
  postedEventTypes,
  testEventType,
} from "./formats/event-types.ts";
export { type Health, type HealthStatus, healthStatuses } from "./formats/health-status.ts";
export { type NotificationKind, notificationKinds } from "./formats/notification-kinds.ts";
export { clampPage, type Page } from "./formats/page.ts";
export { isUuid, uuidv7 } from "./formats/uuid.ts";
export { shrinkWhenIdle } from "./lifecycle/idle-memory.ts";
export { onLeftByNpm } from "./lifecycle/left-by-npm.ts";
export { type Process, runProcess, type Stop } from "./lifecycle/lifecycle.ts";
export { Readiness } from "./lifecycle/readiness.ts";
export { busTls, type TlsFiles, type TlsMaterial, type TlsPaths, tlsFiles } from "./lifecycle/tls-files.ts";
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
} from "./settings/config.ts";
export { type Coupling, coupled, orderErrors, sharedValues } from "./settings/couplings.ts";
export { type PublicAddressSettings, publicAddresses, publicAddressSettings } from "./settings/public-addresses.ts";
export { type ServiceName, serviceNames } from "./settings/service-names.ts";
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
} from "./settings/setting-formats.ts";
export { noteExemplar } from "./telemetry/exemplars.ts";
export { setByHealth } from "./telemetry/health-gauge.ts";
export { createLogger, type Logger } from "./telemetry/logger.ts";
export { counter, gauge, histogram } from "./telemetry/metrics.ts";
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
} from "./telemetry/tracing.ts";
export { fieldsOf, hasFields } from "./text/fields.ts";
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
} from "./text/header-values.ts";
export { changedNumbers, parseKeepingNumbers } from "./text/json-numbers.ts";
export { memberText } from "./text/json-text.ts";
export { nameError, nameMax } from "./text/name.ts";
export {
  isReservedHeader,
  maxRequestHeaderLength,
  maxRequestHeaders,
  type RequestHeader,
  requestHeaderErrors,
  requestHeaderKey,
  requestHeaderText,
} from "./text/request-headers.ts";
export { storableJson, storableText, textError } from "./text/storable.ts";
export { longerThan } from "./text/text-length.ts";
export { isTimezone } from "./text/timezone.ts";
export { withoutTrailing } from "./text/trailing.ts";
export { atMostEvery } from "./timing/at-most-every.ts";
export { keepWorking, type Repeating, repeatEvery } from "./timing/repeat.ts";
export { backoffMs, settledWithin, sleep } from "./timing/retry.ts";
