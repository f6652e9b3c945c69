/**
 * How well requests to another party go, over all that the platform calls: `slow` while work waits for long, `failing`
 * while some requests in a row failed, `unreachable` when nothing is sent, or nothing arrives.
 */
export const healthStatuses = ["healthy", "slow", "failing", "unreachable"] as const;

export type HealthStatus = (typeof healthStatuses)[number];

/** With one sentence for users that says why. */
export type Health = { status: HealthStatus; reason: string };
