export { type Authenticator, softAuthenticator, type Twist } from "./authenticator.ts";
export { callers, contextOf } from "./callers.ts";
export * from "./database.ts";
export { foreignTextProblems, foreignTexts } from "./foreign-text.ts";
export { type Listening, listening } from "./listening.ts";
export { type MovingAddress, movingAddress } from "./moving-address.ts";
export * from "./nats.ts";
export { outcome } from "./outcome.ts";
export { explained, type Scan } from "./plans.ts";
export { processorUnits } from "./processor-units.ts";
export { type TestPort, testPort } from "./rpc.ts";
export { type Leak, type Secret, type SecretScanner, secretScanner } from "./secret-scan.ts";
export { tenantRows } from "./tenant-rows.ts";
export { testCaFile, testCertificate } from "./tls.ts";
export { until } from "./until.ts";
export { type WireTls, wireSmoke } from "./wire-smoke.ts";
export {
  asOwner,
  contextProblems,
  databaseAs,
  fillCommonTables,
  schemaProblems,
  type TableWithoutContext,
  tablesWithoutContext,
} from "./without-context.ts";
