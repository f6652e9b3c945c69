import {
  addresses,
  baseUrls,
  flag,
  mfaMaxAgeMinutes,
  packageVersion,
  privateKeys,
  publicAddressSettings,
  whole,
} from "@muster/kit";
import { encryptionSettings } from "@muster/service";
import { z } from "zod";
import type { LoginLimits } from "./rules/attempt-limit.ts";

export const version = packageVersion(import.meta.url);
export const migrations = new URL("../migrations/", import.meta.url);

export const settings = {
  JWT_PRIVATE_KEYS: privateKeys("ec").describe(
    "kid:base64 P-256 PKCS#8 keys of access tokens, comma-separated; the first signs, all verify.",
  ),
  ...encryptionSettings,
  ENROLLMENT_KEY_PEPPER: z
    .string()
    .optional()
    .describe(
      "Peppers the hashes of enrollment keys; without it an encryption key or JWT_SECRET is used. " +
        "Changing it invalidates all enrollment keys.",
    ),
  JWT_SECRET: z
    .string()
    .optional()
    .describe(
      "Pepper of enrollment keys when neither ENROLLMENT_KEY_PEPPER nor an encryption key is set; no other use.",
    ),
  ENROLLMENT_KEY_DEFAULT_TTL_MINUTES: whole(60, 1, 525_600).describe(
    "Minutes for which an enrollment key without an `expiresAt` of its own is valid.",
  ),
  BOOTSTRAP_ADMIN_EMAIL: z
    .email()
    .default("admin@muster.local")
    .describe("E-mail of the platform administrator that the first start creates."),
  BOOTSTRAP_ADMIN_PASSWORD: z
    .string()
    .min(12)
    .optional()
    .describe(
      "Password of the administrator that the first start creates; without it one is generated and logged once.",
    ),
  PASSWORD_SCRYPT_LOG_N: whole(17, 10, 20).describe("log2 of scrypt's cost N for new password hashes."),
  PASSWORD_QUEUE_MAX: whole(200, 1, 10_000).describe("Queued password checks; more are refused with 503."),
  PASSWORD_CONCURRENCY: whole(0, 0, 64).describe("Password checks that run concurrently; 0 means all cores but one."),
  ACCESS_TOKEN_TTL_SECONDS: whole(900, 60, 3_600).describe("Lifetime of an access token in seconds."),
  SESSION_IDLE_DAYS: whole(7, 1, 90).describe("Days after its last refresh at which a session ends."),
  LOGIN_FAILURES_PER_ACCOUNT: whole(10, 1, 1_000_000).describe(
    "Failed sign-ins allowed for one account from one address within LOGIN_FAILURES_WINDOW_SECONDS.",
  ),
  LOGIN_FAILURES_PER_ADDRESS: whole(100, 1, 1_000_000).describe(
    "Failed sign-ins allowed from one address (IPv6: from one /64) within LOGIN_FAILURES_WINDOW_SECONDS.",
  ),
  LOGIN_FAILURES_WINDOW_SECONDS: whole(300, 1, 86_400).describe(
    "Seconds for which a failed sign-in counts towards the limits per account and per address.",
  ),
  UNKNOWN_KEYS_PER_MINUTE: whole(300, 1, 1_000_000).describe(
    "Unknown API keys accepted for look-up from one address (IPv6: from one /64) per minute; more are refused with 429.",
  ),
  UNKNOWN_TOKENS_PER_MINUTE: whole(300, 1, 1_000_000).describe(
    "Unknown refresh tokens, invitations, password links and portal codes accepted for look-up from one address (IPv6: from one /64) " +
      "per minute; more are refused with 429.",
  ),
  FORGOT_PASSWORD_PER_ACCOUNT: whole(3, 1, 1_000_000).describe(
    "Mails with a password link within an hour, per account.",
  ),
  FORGOT_PASSWORD_PER_ADDRESS: whole(100, 1, 1_000_000).describe(
    "Requests for a password link within an hour, from one address (IPv6: from one /64).",
  ),
  DEVICE_AUTHORIZATIONS_PER_ADDRESS: whole(100, 1, 1_000_000).describe(
    "Sign-ins of command-line clients started within 5 minutes, from one address (IPv6: from one /64).",
  ),
  USER_CODE_FAILURES_PER_ADDRESS: whole(10, 1, 1_000_000).describe(
    "Wrong codes of command-line clients entered within 5 minutes, from one address (IPv6: from one /64); further ones " +
      "are refused with 429.",
  ),
  ...publicAddressSettings,
  SSO_DNS_SERVERS: addresses()
    .default("")
    .describe(
      "Name servers queried for the TXT records of verified domains, address[:port], comma-separated; the system's by default.",
    ),
  EGRESS_TEST_EXCEPTIONS: z
    .string()
    .default("")
    .describe(
      "Origins of identity providers that tests may use, [scheme://]name:port=address[,…]; refused in production.",
    ),
  IS_HOSTED: flag(false).describe(
    "One deployment for many partners: the sign-in page shows no partner's branding or provider before an e-mail is entered.",
  ),
  PASSKEY_RP_ID: z
    .string()
    .optional()
    .describe(
      "Domain of passkeys: the public address's host, or a parent domain. Changing it invalidates all passkeys.",
    ),
  PASSKEY_ORIGINS: z
    .string()
    .default("")
    .transform((text) => text.split(",").flatMap((item) => item.trim() || []))
    .refine(
      (origins) => origins.every((each) => URL.canParse(each) && new URL(each).origin === each),
      "must be exact origins",
    )
    .describe("Further origins whose pages may use passkeys, comma-separated and exact."),
  SMTP_URL: z
    .string()
    .refine((text) => /^smtps?:\/\//.test(text) && URL.canParse(text), "must be smtp:// or smtps:// and a host")
    .optional()
    .describe(
      "smtp://[user:password@]host[:port] or smtps://… of the mail server; without it mail stays queued, or see MAIL_DIR.",
    ),
  MAIL_FROM: z
    .string()
    .max(500)
    .optional()
    .describe("Sender of mails; default Muster <muster@host of the public address>."),
  INVITE_URL_IN_REPLY: flag(false).describe(
    "Replies to invitations have `inviteUrl` although SMTP_URL is set; accounts made by such links stay unproven. " +
      "Without SMTP_URL they always have it.",
  ),
  MAIL_DIR: z
    .string()
    .optional()
    .describe("Development mailbox: without SMTP_URL each mail becomes a file in this folder. Refused in production."),
  ENROLLMENT_RESERVATION_SECONDS: whole(60, 1, 3_600).describe(
    "Seconds after which an unfinished enrollment is rolled back and its use of the key released.",
  ),
  ENROLLMENT_FAILURES_PER_MINUTE: whole(60, 1, 1_000_000).describe(
    "Enrollments with a refused key from one address (IPv6: from one /64) per minute; more are refused with 429.",
  ),
  TENANCY_URL: baseUrls("tenancy", "creates the devices of enrolling agents"),
  MFA_MAX_AGE_MINUTES: mfaMaxAgeMinutes,
  DIRECTORIES_PER_TENANT: whole(50, 0, 10_000).describe(
    "Directories that an organization, or a partner for itself, may have; more are refused with 409.",
  ),
  PORTAL_LINKS_PER_ORGANIZATION: whole(1_000, 0, 1_000_000).describe(
    "Links to the webhook portal that one organization may have open, neither expired nor revoked; more are refused with 409.",
  ),
  SESSION_MAX_DAYS: whole(30, 1, 365).describe("Days after sign-in at which a session ends."),
  SESSION_RETENTION_DAYS: whole(30, 1, 3_650).describe("Days for which the row of a session that has ended is kept."),
};

/** The limits on failed sign-ins of these settings. */
export function loginLimits(config: {
  LOGIN_FAILURES_PER_ACCOUNT: number;
  LOGIN_FAILURES_PER_ADDRESS: number;
  LOGIN_FAILURES_WINDOW_SECONDS: number;
}): LoginLimits {
  const windowMs = config.LOGIN_FAILURES_WINDOW_SECONDS * 1_000;
  return {
    perAccount: { max: config.LOGIN_FAILURES_PER_ACCOUNT, windowMs },
    perAddress: { max: config.LOGIN_FAILURES_PER_ADDRESS, windowMs },
  };
}

/** The limits on sign-ins of command-line clients of these settings. */
export function deviceLimits(config: {
  DEVICE_AUTHORIZATIONS_PER_ADDRESS: number;
  USER_CODE_FAILURES_PER_ADDRESS: number;
}) {
  const windowMs = 300_000;
  return {
    started: { max: config.DEVICE_AUTHORIZATIONS_PER_ADDRESS, windowMs },
    wrongCodes: { max: config.USER_CODE_FAILURES_PER_ADDRESS, windowMs },
  };
}

/** The limits on asking for a new password of these settings. */
export function forgotLimits(config: { FORGOT_PASSWORD_PER_ACCOUNT: number; FORGOT_PASSWORD_PER_ADDRESS: number }) {
  const windowMs = 3_600_000;
  return {
    perAccount: { max: config.FORGOT_PASSWORD_PER_ACCOUNT, windowMs },
    perAddress: { max: config.FORGOT_PASSWORD_PER_ADDRESS, windowMs },
  };
}
