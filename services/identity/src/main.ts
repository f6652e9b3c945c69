import { MfaService } from "@muster/proto/muster/identity/v1/mfa_pb";
import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { UserService } from "@muster/proto/muster/identity/v1/user_pb";
import { register } from "@muster/rpc";
import { runService } from "@muster/service";
import { accessTokens } from "./access-tokens.ts";
import { migrations, settings, version } from "./config.ts";
import { announceTenant } from "./events/tenants.ts";
import { bootstrapAdministrator } from "./jobs/bootstrap.ts";
import { passwords } from "./passwords.ts";
import { mfaService } from "./rpc/mfa.ts";
import { sessionService } from "./rpc/session.ts";
import { userService } from "./rpc/user.ts";
import { seededRoles } from "./rules/catalogue.ts";
import { secretBox } from "./rules/secret-box.ts";
import { seedRoles } from "./store/roles.ts";

await runService({
  name: "identity",
  version,
  settings,
  migrations,
  tenantCopy: { onChange: announceTenant },
  async start({ db, config, process }) {
    const now = () => new Date();
    const hashing = passwords({ logN: config.PASSWORD_SCRYPT_LOG_N, queueMax: config.PASSWORD_QUEUE_MAX });
    await seedRoles(db, seededRoles, now());
    await bootstrapAdministrator(
      { db, passwords: hashing, log: process.log, now },
      { email: config.BOOTSTRAP_ADMIN_EMAIL, password: config.BOOTSTRAP_ADMIN_PASSWORD },
    );
    const sessions = {
      db,
      log: process.log,
      passwords: hashing,
      tokens: accessTokens(config.JWT_PRIVATE_KEYS, config.ACCESS_TOKEN_TTL_SECONDS),
      box: secretBox(config.SECRET_ENCRYPTION_KEY),
      idleDays: config.SESSION_IDLE_DAYS,
      maxDays: config.SESSION_MAX_DAYS,
      now,
    };
    const users = {
      db,
      passwords: hashing,
      now,
      mfaMaxAgeMinutes: config.MFA_MAX_AGE_MINUTES,
      copyLagMs: config.TENANT_COPY_LAG_MS,
    };
    return [
      register(SessionService, sessionService(sessions)),
      register(MfaService, mfaService(sessions)),
      register(UserService, userService(users)),
    ];
  },
});
