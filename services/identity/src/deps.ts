import type { Database } from "@muster/db";
import { type Egress, openEgress, parseExceptions, validateUrl } from "@muster/egress";
import { type Caller, type Logger, publicAddresses, type SecretBox, secretBox, systemCaller } from "@muster/kit";
import { encryptionKeys, type LearnTenants, type ReplyBox, type ServiceContext } from "@muster/service";
import type { z } from "zod";
import { type KeySets, keySets } from "./clients/sso/key-sets.ts";
import { type TxtRecords, txtRecords } from "./clients/sso/txt-records.ts";
import { type TenancyDevices, tenancyDevices } from "./clients/tenancy-devices.ts";
import { forgotLimits, loginLimits, type settings } from "./config.ts";
import { type AccessTokens, accessTokens } from "./crypto/access-tokens.ts";
import { type Passwords, passwords } from "./crypto/passwords.ts";
import { ResponseVerifier } from "./crypto/saml/response-verifier.ts";
import { type StateCookies, stateCookies } from "./crypto/sso-state.ts";
import { type MailQueue, mailQueue } from "./emits/mail-queue.ts";
import { type RequestLog, requestLog } from "./emits/request-log.ts";
import type { AttemptLimit, LoginLimits } from "./rules/attempt-limit.ts";
import { enrollmentPeppers, type Pepper } from "./rules/enrollment-key.ts";
import { type RelyingParty, relyingPartyOf } from "./rules/relying-party.ts";
import type { OwnAddresses } from "./rules/sso/provider.ts";
import { secretPurposes } from "./store/sealed-columns.ts";
import { type UnknownKeys, unknownKeys } from "./store/unknown-keys.ts";

export type SessionDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  tokens: AccessTokens;
  passwords: Passwords;
  /** Seals the secrets of session families. */
  box: SecretBox;
  totpBox: SecretBox;
  idleDays: number;
  maxDays: number;
  loginLimits: LoginLimits;
  unknownTokens: UnknownKeys;
};

export type FactorDeps = SessionDeps & { mail: MailQueue; mfaMaxAgeMinutes: number };

export type PasskeyDeps = { relyingParty: RelyingParty; now: () => Date };

export type AccountDeps = FactorDeps & { forgotLimits: { perAccount: AttemptLimit; perAddress: AttemptLimit } };

export type RoleDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  mfaMaxAgeMinutes: number;
  learnTenants: LearnTenants;
};

/** Seals the replies that are kept for repeats: they hold keys and invitations. */
export type KeyDeps = RoleDeps & { box: ReplyBox };

export type UserDeps = KeyDeps & {
  passwords: Passwords;
  unknownTokens: UnknownKeys;
  mail: MailQueue;
  /** The reply to an invitation has its link. */
  showsInvites: boolean;
};

export type EnrollmentKeyDeps = KeyDeps & {
  /** Of new keys. */
  pepper: Pepper;
  defaultTtlMinutes: number;
  /** Devices no longer name a deleted key. */
  forgetKey: TenancyDevices["forgetKey"];
};

export type AgentDeps = {
  db: Database;
  /** Seals the replies that are kept for repeats: they hold tokens. */
  box: ReplyBox;
  now: () => Date;
  peppers: readonly Pepper[];
  devices: TenancyDevices;
  /** Refused keys by address. */
  failures: UnknownKeys;
  reservationSeconds: number;
};

export type SsoDeps = KeyDeps & {
  system: Caller;
  sessions: SessionDeps;
  factors: FactorDeps;
  /** Seals client secrets, login flows and providers' tokens. */
  sealing: SecretBox;
  cookies: StateCookies;
  egress: Egress;
  /** Checks a URL by its text alone. Throws EgressRefused. */
  checkUrl(url: string): void;
  /** Signing keys of providers. */
  keys: KeySets;
  txt: TxtRecords;
  responses: ResponseVerifier;
  own: OwnAddresses;
  /** Where people are sent back to, without a trailing slash. */
  appUrl: string;
  isHosted: boolean;
};

export type DirectoryDeps = {
  db: Database;
  now: () => Date;
  /** Base address of SCIM, without a trailing slash. */
  scimUrl: string;
  requests: RequestLog;
};

export type EdgeDeps = { db: Database; log: Logger; now: () => Date; unknownKeys: UnknownKeys };

type Context = Pick<
  ServiceContext<z.infer<z.ZodObject<typeof settings>> & { CALLER_PRIVATE_KEYS: string; NODE_ENV: string }>,
  "db" | "config" | "process" | "learnTenants"
>;

/** The dependencies of identity's handlers and jobs, made from its settings. */
export function identityDeps({ db, config, process, learnTenants }: Context) {
  const { log } = process;
  const now = () => new Date();
  const { publicUrl, appUrl } = publicAddresses(config);
  // Created first: its refusal to start names the pepper, which any of four settings provides.
  const peppers = enrollmentPeppers(config);
  const boxOf = (purpose: string) => secretBox(encryptionKeys(config), purpose);
  const limited = (kind: "api-key" | "enrollment" | "token", max: number) =>
    unknownKeys({ db, limit: { max, windowMs: 60_000 }, now, kind });

  const hashing = passwords({
    logN: config.PASSWORD_SCRYPT_LOG_N,
    queueMax: config.PASSWORD_QUEUE_MAX,
    concurrency: config.PASSWORD_CONCURRENCY,
  });
  process.onStop("password hashing", () => hashing.close());
  const tenancy = tenancyDevices({
    baseUrls: config.TENANCY_URL,
    privateKeys: config.CALLER_PRIVATE_KEYS,
  });
  process.onStop("tenancy devices", () => tenancy.close());

  const mailBox = boxOf(secretPurposes.mail);
  const mail = mailQueue({ box: mailBox, publicUrl });
  const unknownTokens = limited("token", config.UNKNOWN_TOKENS_PER_MINUTE);

  const sessions: SessionDeps = {
    db,
    log,
    now,
    unknownTokens,
    passwords: hashing,
    tokens: accessTokens(config.JWT_PRIVATE_KEYS, config.ACCESS_TOKEN_TTL_SECONDS),
    box: boxOf(secretPurposes.families),
    totpBox: boxOf(secretPurposes.totp),
    idleDays: config.SESSION_IDLE_DAYS,
    maxDays: config.SESSION_MAX_DAYS,
    loginLimits: loginLimits(config),
  };
  const factors: FactorDeps = { ...sessions, mail, mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES };
  const relyingParty = relyingPartyOf({ publicUrl, id: config.PASSKEY_RP_ID, origins: config.PASSKEY_ORIGINS });
  const keys: KeyDeps = {
    db,
    log,
    now,
    box: boxOf(secretPurposes.replies),
    mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES,
    learnTenants,
  };
  const enrollmentKeys: EnrollmentKeyDeps = {
    ...keys,
    pepper: peppers[0],
    defaultTtlMinutes: config.ENROLLMENT_KEY_DEFAULT_TTL_MINUTES,
    forgetKey: tenancy.forgetKey,
  };
  const agents: AgentDeps = {
    db,
    box: keys.box,
    now,
    peppers,
    devices: tenancy,
    failures: limited("enrollment", config.ENROLLMENT_FAILURES_PER_MINUTE),
    reservationSeconds: config.ENROLLMENT_RESERVATION_SECONDS,
  };
  const showsInvites = config.INVITE_URL_IN_REPLY || !config.SMTP_URL;
  const users: UserDeps = { ...keys, unknownTokens, mail, passwords: hashing, showsInvites };
  const accounts: AccountDeps = { ...factors, forgotLimits: forgotLimits(config) };
  const passkeys: FactorDeps & PasskeyDeps = { ...factors, relyingParty };
  const exceptions = parseExceptions(config.EGRESS_TEST_EXCEPTIONS, config.NODE_ENV);
  const egress = openEgress({ profile: "sso", exceptions });
  process.onStop("identity providers", () => egress.close());
  const responses = new ResponseVerifier();
  process.onStop("SAML responses", () => responses.close());
  const sso: SsoDeps = {
    ...keys,
    system: systemCaller("identity"),
    sessions,
    factors,
    sealing: boxOf(secretPurposes.sso),
    egress,
    checkUrl: (address) => void validateUrl(address, exceptions),
    keys: keySets({ max: 500 }),
    txt: txtRecords(config.SSO_DNS_SERVERS),
    responses,
    appUrl,
    isHosted: config.IS_HOSTED,
    ...ssoAddresses(publicUrl, encryptionKeys(config), config.NODE_ENV),
  };
  const edge: EdgeDeps = { db, log, now, unknownKeys: limited("api-key", config.UNKNOWN_KEYS_PER_MINUTE) };
  const requests = requestLog({ db, now, log });
  process.onStop("log of directories", () => requests.stop());
  const directories: DirectoryDeps = { db, now, scimUrl: `${publicUrl}/api/v1/scim/v2`, requests };
  return {
    sessions,
    factors,
    passkeys,
    accounts,
    users,
    keys,
    enrollmentKeys,
    agents,
    sso,
    directories,
    edge,
    mailBox,
    publicUrl,
  };
}

/** Addresses of ours that identity providers send browsers to, and the cookie that is sent to one of them alone. */
export function ssoAddresses(publicAddress: string, sealingKeys: string, nodeEnv: string) {
  const base = `${publicAddress}/api/v1/sso`;
  const own: OwnAddresses = {
    callbackUrl: `${base}/callback`,
    acsUrl: `${base}/saml/acs`,
    samlMetadataUrl: (providerId) => `${base}/saml/metadata/${providerId}`,
  };
  const { pathname: path, protocol } = new URL(own.callbackUrl);
  const secure = protocol === "https:" || nodeEnv === "production";
  return { own, cookies: stateCookies(sealingKeys, { path, secure, maxAgeSeconds: 600 }) };
}
