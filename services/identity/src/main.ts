import { secretBox } from "@muster/kit";
import { AccountService } from "@muster/proto/muster/identity/v1/account_pb";
import { AgentService } from "@muster/proto/muster/identity/v1/agent_pb";
import { ApiKeyService } from "@muster/proto/muster/identity/v1/api_key_pb";
import { EdgeService } from "@muster/proto/muster/identity/v1/edge_pb";
import { EnrollmentKeyService } from "@muster/proto/muster/identity/v1/enrollment_key_pb";
import { MfaService } from "@muster/proto/muster/identity/v1/mfa_pb";
import { PasskeyService } from "@muster/proto/muster/identity/v1/passkey_pb";
import { RefusalService } from "@muster/proto/muster/identity/v1/refusal_pb";
import { RoleService } from "@muster/proto/muster/identity/v1/role_pb";
import { ServicePrincipalService } from "@muster/proto/muster/identity/v1/service_principal_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { UserService } from "@muster/proto/muster/identity/v1/user_pb";
import { register } from "@muster/rpc";
import { askPurge, encryptionKeys, runService, startPurges } from "@muster/service";
import { accessTokens } from "./access-tokens.ts";
import { forgotLimits, loginLimits, migrations, publicUrl, settings, version } from "./config.ts";
import { followDevices } from "./events/devices.ts";
import { announceTenant } from "./events/tenants.ts";
import { bootstrapAdministrator } from "./jobs/bootstrap.ts";
import { startEdgeCleanup } from "./jobs/edge-cleanup.ts";
import { startMail } from "./jobs/send-mail.ts";
import { startSessionCleanup } from "./jobs/session-cleanup.ts";
import { startSweeping } from "./jobs/sweep-reservations.ts";
import { mailDelivery } from "./mail-delivery.ts";
import { mailQueue } from "./mail-queue.ts";
import { relyingPartyOf } from "./passkeys.ts";
import { passwords } from "./passwords.ts";
import { accountService } from "./rpc/account.ts";
import { agentService } from "./rpc/agent.ts";
import { apiKeyService } from "./rpc/api-key.ts";
import { edgeService } from "./rpc/edge.ts";
import { enrollmentKeyService } from "./rpc/enrollment-key.ts";
import { mfaService } from "./rpc/mfa.ts";
import { passkeyService } from "./rpc/passkey.ts";
import { refusalService } from "./rpc/refusal.ts";
import { roleService } from "./rpc/role.ts";
import { servicePrincipalService } from "./rpc/service-principal.ts";
import { sessionService } from "./rpc/session.ts";
import { userService } from "./rpc/user.ts";
import { seededRoles } from "./rules/catalogue.ts";
import { enrollmentPeppers } from "./rules/enrollment-key.ts";
import { sealedColumns, secretPurposes } from "./sealed-columns.ts";
import { purgePlan } from "./store/purge.ts";
import { seedRoles } from "./store/roles.ts";
import { tenancyDevices } from "./tenancy-devices.ts";
import { unknownKeys } from "./unknown-keys.ts";

await runService({
  name: "identity",
  version,
  settings,
  migrations,
  tenantCopy: { onChange: announceTenant, onDevices: followDevices, onPurged: askPurge },
  sealed: sealedColumns,
  async start({ db, config, process }) {
    const now = () => new Date();
    const peppers = enrollmentPeppers(config);
    const [pepper] = peppers;
    const hashing = passwords({
      logN: config.PASSWORD_SCRYPT_LOG_N,
      queueMax: config.PASSWORD_QUEUE_MAX,
      concurrency: config.PASSWORD_CONCURRENCY,
    });
    process.onStop("password hashing", () => hashing.close());
    await seedRoles(db, seededRoles, now());
    await bootstrapAdministrator(
      { db, passwords: hashing, log: process.log, now },
      { email: config.BOOTSTRAP_ADMIN_EMAIL, password: config.BOOTSTRAP_ADMIN_PASSWORD },
    );
    const boxOf = (purpose: string) => secretBox(encryptionKeys(config), purpose);
    const replies = boxOf(secretPurposes.replies);
    const perMinute = { max: config.UNKNOWN_TOKENS_PER_MINUTE, windowMs: 60_000 };
    const unknownTokens = unknownKeys({ db, limit: perMinute, now, kind: "token" });
    const sessions = {
      db,
      unknownTokens,
      log: process.log,
      passwords: hashing,
      tokens: accessTokens(config.JWT_PRIVATE_KEYS, config.ACCESS_TOKEN_TTL_SECONDS),
      box: boxOf(secretPurposes.families),
      totpBox: boxOf(secretPurposes.totp),
      idleDays: config.SESSION_IDLE_DAYS,
      maxDays: config.SESSION_MAX_DAYS,
      loginLimits: loginLimits(config),
      now,
    };
    const mailBox = secretBox(encryptionKeys(config), secretPurposes.mail);
    const mail = mailQueue({ box: mailBox, publicUrl: publicUrl(config) });
    const delivery = mailDelivery(config, publicUrl(config), process.log);
    const posting = startMail({ db, box: mailBox, mail, delivery, log: process.log, now });
    process.onStop("mail", () => posting.stop());
    const factors = { ...sessions, mail, mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES };
    const relyingParty = relyingPartyOf({
      publicUrl: publicUrl(config),
      id: config.PASSKEY_RP_ID,
      origins: config.PASSKEY_ORIGINS,
    });
    const users = {
      db,
      unknownTokens,
      mail,
      log: process.log,
      passwords: hashing,
      now,
      box: replies,
      mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES,
      copyLagMs: config.TENANT_COPY_LAG_MS,
    };
    const keys = {
      db,
      log: process.log,
      now,
      box: replies,
      mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES,
      copyLagMs: config.TENANT_COPY_LAG_MS,
    };
    const enrollmentKeys = { ...keys, pepper, defaultTtlMinutes: config.ENROLLMENT_KEY_DEFAULT_TTL_MINUTES };
    const devices = tenancyDevices({
      baseUrls: config.TENANCY_URL.split(",").map((url) => url.trim()),
      privateKeys: config.CALLER_PRIVATE_KEYS,
    });
    process.onStop("tenancy devices", () => devices.close());
    const refusedKeys = { max: config.ENROLLMENT_FAILURES_PER_MINUTE, windowMs: 60_000 };
    const failures = unknownKeys({ db, limit: refusedKeys, now, kind: "enrollment" });
    const sweeping = startSweeping({ db, discard: devices.discard, log: process.log });
    process.onStop("reservation sweeper", () => sweeping.stop());
    const cleanup = startEdgeCleanup({ db, log: process.log });
    const unknown = unknownKeys({ db, limit: { max: config.UNKNOWN_KEYS_PER_MINUTE, windowMs: 60_000 }, now });
    process.onStop("edge clean-up", () => cleanup.stop());
    const sessionCleanup = startSessionCleanup({
      db,
      retentionDays: config.SESSION_RETENTION_DAYS,
      log: process.log,
      now,
    });
    process.onStop("session clean-up", () => sessionCleanup.stop());
    const purges = startPurges({ db, service: "identity", log: process.log, plan: purgePlan });
    process.onStop("purges", () => purges.stop());
    return [
      register(SessionService, sessionService(sessions)),
      register(MfaService, mfaService(factors)),
      register(PasskeyService, passkeyService({ ...factors, relyingParty })),
      register(AccountService, accountService({ ...factors, forgotLimits: forgotLimits(config) })),
      register(UserService, userService(users)),
      register(RoleService, roleService(users)),
      register(RefusalService, refusalService(users)),
      register(ApiKeyService, apiKeyService(keys)),
      register(ServicePrincipalService, servicePrincipalService(keys)),
      register(EnrollmentKeyService, enrollmentKeyService(enrollmentKeys)),
      register(
        AgentService,
        agentService({
          db,
          peppers,
          devices,
          failures,
          reservationSeconds: config.ENROLLMENT_RESERVATION_SECONDS,
          now,
        }),
      ),
      register(EdgeService, edgeService({ db, unknownKeys: unknown, now })),
    ];
  },
});
