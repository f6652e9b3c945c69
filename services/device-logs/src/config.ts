import { baseUrls, mfaMaxAgeMinutes, packageVersion, whole } from "@muster/kit";

export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

/** Settings beyond those of every service. */
export const settings = {
  TENANCY_URL: baseUrls("tenancy", "queried for devices"),
  AGENT_LOG_RETENTION_DAYS: whole(30, 1, 3_650).describe(
    "Days that diagnostic logs are kept, at most, of any organization; whole weeks are dropped, so that a row may stay up to 7 days longer.",
  ),
  EVENT_LOG_RETENTION_DAYS: whole(90, 1, 3_650).describe(
    "Days that event logs are kept after they were stored, at most, of any organization.",
  ),
  DEVICE_LOG_ROWS_PER_MINUTE: whole(30_000, 1_000, 100_000_000).describe(
    "Log rows per minute of one device, each KiB of a request counting as at least one row; more are refused with 429. Counted by each process separately.",
  ),
  ORGANIZATION_LOG_ROWS_PER_DAY: whole(50_000_000, 0, 1_000_000_000_000).describe(
    "Log rows of one organization's agents in a day of UTC, 0 for any number; more are refused with 429. Unless the organization has a quota of its own.",
  ),
  ORGANIZATION_LOG_MEBIBYTES_PER_DAY: whole(51_200, 0, 1_000_000_000).describe(
    "MiB of log requests of one organization's agents in a day of UTC, 0 for any number; more are refused with 429. Unless the organization has a quota of its own.",
  ),
  MFA_MAX_AGE_MINUTES: mfaMaxAgeMinutes,
  LOG_QUERY_TIMEOUT_MS: whole(3_000, 100, 60_000).describe(
    "Milliseconds that a query of stored logs may take; a longer one fails with 400 `time_range_too_wide`.",
  ),
  LIVE_QUERIES_PER_ORGANIZATION: whole(64, 1, 100_000).describe(
    "Live queries of one organization's devices in flight; more are refused with 429. Counted by each process separately.",
  ),
  LIVE_QUERY_CONCURRENCY: whole(500, 1, 100_000).describe(
    "Live queries of all devices that this process has in flight; more are refused with 503.",
  ),
  LIVE_QUERY_TIMEOUT_MS: whole(30_000, 100, 30_000).describe(
    "Milliseconds within which a device must answer a live query; then it fails with 504.",
  ),
};
