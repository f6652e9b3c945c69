import type { AuditEvent } from "@muster/proto/muster/events/v1/audit_pb";
export type ActorType = "user" | "api_key" | "agent" | "system";
export type Result = "success" | "failure" | "denied";
/** One audited fact, normalised: what is hashed, stored and given back by the database are the same values. */
export type Entry = {
    id: string;
    chainId: string;
    orgId: string | null;
    partnerId: string | null;
    timestamp: Date;
    actorType: ActorType;
    actorId: string;
    actorEmail: string | null;
    actorName: string | null;
    actorRole: string | null;
    actorDepartment: string | null;
    sessionId: string | null;
    action: string;
    resourceType: string;
    resourceId: string;
    resourceName: string | null;
    details: Record<string, unknown>;
    ipAddress: string | null;
    userAgent: string | null;
    result: Result;
    errorMessage: string | null;
};
/** Why an event cannot become a row. */
export declare class UnsealableError extends Error {
}
/** Normalises an event to the interface's sizes and forms; throws UnsealableError when it cannot become a row. */
export declare function entryOf(event: AuditEvent, now: Date): Entry;
/** Text that PostgreSQL and JSON keep as it is: at most `max` characters as PostgreSQL counts them (code points). */
export declare function clean(text: string, max: number): string;
/** IPv4 and IPv6 in one spelling each; an IPv4-mapped address is its IPv4 address; anything else is null. */
export declare function canonicalAddress(text: string): string | null;
//# sourceMappingURL=entry.d.ts.map