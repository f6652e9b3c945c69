export { type AuditFact, auditEvent, auditPartition } from "./audit-event.ts";
export { requirePermission, requireScope } from "./guards.ts";
export { runService, type ServiceContext, type ServiceDefinition } from "./run-service.ts";
