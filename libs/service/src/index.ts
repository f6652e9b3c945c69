export { type AttentionRow, type AttentionSource, attentionService } from "./attention.ts";
export { type AuditFact, auditEvent, auditPartition } from "./audit-event.ts";
export { changesBetween } from "./changes.ts";
export { encryptionKeys, encryptionSettings } from "./encryption-keys.ts";
export {
  requireMfa,
  requireOrganization,
  requirePermission,
  requireScope,
  requireUser,
  requireWholeOrganization,
  siteRestricted,
} from "./guards.ts";
export { checkedBefore, idempotentTx, type ReplyBox, repeatedReply, sealedReplies } from "./idempotent.ts";
export { type LearnTenants, learningFrom, type TenantReader } from "./learn-tenants.ts";
export {
  type ListPage,
  type NewestList,
  type OrderedList,
  ofOrganization,
  readListPage,
  readNewestPage,
  visibleTo,
} from "./newest-page.ts";
export {
  type Notification,
  type NotificationAbout,
  type NotificationAuthorState,
  type NotificationClient,
  notificationClient,
} from "./notification-client.ts";
export { eventSubject, type PlatformFact, platformEvent } from "./platform-event.ts";
export { type Reencrypted, type ReencryptOptions, reencrypt } from "./reencrypt.ts";
export { runService, type ServiceContext, type ServiceDefinition } from "./run-service.ts";
export type { SealedColumn } from "./sealed-column.ts";
export { type TenancySnapshot, tenancySnapshot } from "./tenancy-snapshot.ts";
export {
  followTenancy,
  type OnDeviceChanges,
  type OnPurged,
  type OnTenantChange,
  type PurgedTenant,
  reconcileTenants,
  startReconciling,
  type TenantCopyDeps,
  tenantMigrations,
} from "./tenant-copy.ts";
export {
  ownedBy,
  type PurgeDeps,
  type PurgePlan,
  type PurgeStep,
  partitionsOf,
  purgeAll,
  requestPurge,
  startPurges,
  walked,
} from "./tenant-purge.ts";
export { applyTenants, copyHash, type TenantChange, type TenantKind, tenantKinds } from "./tenant-store.ts";
