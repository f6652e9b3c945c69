export { type ClientOptions, createMusterClient, type MusterClient } from "./client.ts";
export type { EventName, Permission, Scope } from "./closed-lists.ts";
export { type ApiError, MusterError } from "./errors.ts";
export type { components, operations, paths } from "./generated/schema.ts";
export { linesOf } from "./lines.ts";
export { type ItemOf, type ListPath, type Pages, pagesOf } from "./pages.ts";
export type { Exchanged, RefreshWith, Tokens } from "./session.ts";
export { type AuditVerdict, isProblem, isUnverified, verdictName, verdictText } from "./verdicts.ts";
export { type VerifyOptions, verifyWebhook } from "./webhook.ts";
