import type { Database } from "@muster/db";
import { type Egress, openEgress, parseExceptions, validateUrl } from "@muster/egress";
import { type Caller, type Logger, publicAddresses, type SecretBox, secretBox, systemCaller } from "@muster/kit";
import { encryptionKeys, type LearnTenants, type ReplyBox, type ServiceContext } from "@muster/service";
import type { z } from "zod";
import { type KeySets, keySets } from "./clients/sso/key-sets.ts";
import { type TxtRecords, txtRecords } from "./clients/sso/txt-records.ts";
import { type TenancyDevices, tenancyDevices } from "./clients/tenancy-devices.ts";
import { deviceLimits, forgotLimits, loginLimits, type settings } from "./config.ts";
import { type AccessTokens, accessTokens } from "./crypto/access-tokens.ts";
import { type Passwords, passwords } from "./crypto/passwords.ts";
import { ResponseVerifier } from "./crypto/saml/response-verifier.ts";
import { type StateCookies, stateCookies } from "./crypto/sso-state.ts";
import { type UserCodeHashes, userCodeHashes } from "./crypto/user-code-hashes.ts";
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

export type DeviceAuthorizationDeps = SessionDeps & {
  system: Caller;
  userCodeHashes: UserCodeHashes;
  /** Per address: sign-ins started, and wrong user codes. */
  deviceLimits: { started: AttemptLimit; wrongCodes: AttemptLimit };
};

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

export type NotificationDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  mail: MailQueue;
  /** Seals the tokens of links that end mails of a kind. */
  unsubscribing: SecretBox;
  unknownTokens: UnknownKeys;
};

export type DirectoryDeps = {
  db: Database;
  log: Logger;
  now: () => Date;
  /** Base address of SCIM, without a trailing slash. */
  scimUrl: string;
  requests: RequestLog;
};

export type PortalDeps = KeyDeps & {
  /** Unknown codes and tokens by address. */
  unknownTokens: UnknownKeys;
  /** Most open links of one organization. */
  linksPerOrganization: number;
};

export type EdgeDeps = { db: Database; log: Logger; now: () => Date; unknownKeys: UnknownKeys };

type Context = Pick<
  ServiceContext<z.infer<z.ZodObject<typeof settings>> & { CALLER_PRIVATE_KEYS: string; NODE_ENV: string }>,
  "db" | "config" | "process" | "learnTenants"
>;

/** What the bags below share. */
type Shared = { context: Context; now: () => Date; boxOf(purpose: string): SecretBox; mail: MailQueue };

/** The dependencies of identity's handlers and jobs, made from its settings. */
export function identityDeps(context: Context) {
  const { db, config, process } = context;
  const { log } = process;
  const now = () => new Date();
  const { publicUrl } = publicAddresses(config);
  // Created first: its refusal to start names the pepper, which any of four settings provides.
  const peppers = enrollmentPeppers(config);
  const boxOf = (purpose: string) => secretBox(encryptionKeys(config), purpose);
  const hashing = openHashing(context);
  const tenancy = openTenancy(context);
  const mailBox = boxOf(secretPurposes.mail);
  const mail = mailQueue({ box: mailBox, publicUrl });
  const shared: Shared = { context, now, boxOf, mail };
  const sessions = sessionDeps(shared, hashing);
  const factors: FactorDeps = { ...sessions, mail, mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES };
  const relyingParty = relyingPartyOf({ publicUrl, id: config.PASSKEY_RP_ID, origins: config.PASSKEY_ORIGINS });
  const { keys, enrollmentKeys, users } = keyDeps(shared, sessions, {
    pepper: peppers[0],
    forgetKey: tenancy.forgetKey,
  });
  const agents: AgentDeps = {
    db,
    box: keys.box,
    now,
    peppers,
    devices: tenancy,
    failures: limited(shared, "enrollment", config.ENROLLMENT_FAILURES_PER_MINUTE),
    reservationSeconds: config.ENROLLMENT_RESERVATION_SECONDS,
  };
  const accounts: AccountDeps = { ...factors, forgotLimits: forgotLimits(config) };
  const passkeys: FactorDeps & PasskeyDeps = { ...factors, relyingParty };
  const deviceAuthorizations: DeviceAuthorizationDeps = {
    ...sessions,
    system: systemCaller("identity"),
    userCodeHashes: userCodeHashes(encryptionKeys(config)),
    deviceLimits: deviceLimits(config),
  };
  const sso = ssoDeps(shared, { keys, sessions, factors });
  const edge: EdgeDeps = { db, log, now, unknownKeys: limited(shared, "api-key", config.UNKNOWN_KEYS_PER_MINUTE) };
  const requests = requestLog({ db, now, log });
  process.onStop("log of directories", () => requests.stop());
  const directories: DirectoryDeps = { db, log, now, scimUrl: `${publicUrl}/api/v1/scim/v2`, requests };
  const { unknownTokens } = sessions;
  const unsubscribing = boxOf(secretPurposes.unsubscribe);
  const notifications: NotificationDeps = { db, log, now, mail, unsubscribing, unknownTokens };
  const ofUsers = { sessions, factors, passkeys, accounts, deviceAuthorizations, users, notifications };
  const own = { ...ofUsers, keys, enrollmentKeys };
  return { ...own, agents, sso, directories, edge, mailBox, publicUrl };
}

function limited({ context, now }: Shared, kind: "api-key" | "enrollment" | "token", max: number): UnknownKeys {
  return unknownKeys({ db: context.db, limit: { max, windowMs: 60_000 }, now, kind });
}

function openHashing({ config, process }: Context): Passwords {
  const hashing = passwords({
    logN: config.PASSWORD_SCRYPT_LOG_N,
    queueMax: config.PASSWORD_QUEUE_MAX,
    concurrency: config.PASSWORD_CONCURRENCY,
  });
  process.onStop("password hashing", () => hashing.close());
  return hashing;
}

function openTenancy({ config, process }: Context): TenancyDevices {
  const tenancy = tenancyDevices({ baseUrls: config.TENANCY_URL, privateKeys: config.CALLER_PRIVATE_KEYS });
  process.onStop("tenancy devices", () => tenancy.close());
  return tenancy;
}

function sessionDeps(shared: Shared, hashing: Passwords): SessionDeps {
  const { context, now, boxOf } = shared;
  const { db, config, process } = context;
  return {
    db,
    log: process.log,
    now,
    unknownTokens: limited(shared, "token", config.UNKNOWN_TOKENS_PER_MINUTE),
    passwords: hashing,
    tokens: accessTokens(config.JWT_PRIVATE_KEYS, config.ACCESS_TOKEN_TTL_SECONDS),
    box: boxOf(secretPurposes.families),
    totpBox: boxOf(secretPurposes.totp),
    idleDays: config.SESSION_IDLE_DAYS,
    maxDays: config.SESSION_MAX_DAYS,
    loginLimits: loginLimits(config),
  };
}

function keyDeps(
  { context, now, boxOf, mail }: Shared,
  sessions: SessionDeps,
  { pepper, forgetKey }: Pick<EnrollmentKeyDeps, "pepper" | "forgetKey">,
) {
  const { db, config, process, learnTenants } = context;
  const keys: KeyDeps = {
    db,
    log: process.log,
    now,
    box: boxOf(secretPurposes.replies),
    mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES,
    learnTenants,
  };
  const defaultTtlMinutes = config.ENROLLMENT_KEY_DEFAULT_TTL_MINUTES;
  const enrollmentKeys: EnrollmentKeyDeps = { ...keys, pepper, defaultTtlMinutes, forgetKey };
  const { unknownTokens, passwords: hashing } = sessions;
  const showsInvites = config.INVITE_URL_IN_REPLY || !config.SMTP_URL;
  const users: UserDeps = { ...keys, unknownTokens, mail, passwords: hashing, showsInvites };
  return { keys, enrollmentKeys, users };
}

function ssoDeps(
  { context, boxOf }: Shared,
  { keys, sessions, factors }: { keys: KeyDeps; sessions: SessionDeps; factors: FactorDeps },
): SsoDeps {
  const { config, process } = context;
  const { publicUrl, appUrl } = publicAddresses(config);
  const exceptions = parseExceptions(config.EGRESS_TEST_EXCEPTIONS, config.NODE_ENV);
  const egress = openEgress({ profile: "sso", exceptions });
  process.onStop("identity providers", () => egress.close());
  const responses = new ResponseVerifier();
  process.onStop("SAML responses", () => responses.close());
  return {
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
