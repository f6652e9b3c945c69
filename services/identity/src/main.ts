import { SessionService } from "@muster/proto/muster/identity/v1/session_pb";
import { register } from "@muster/rpc";
import { runService } from "@muster/service";
import { accessTokens } from "./access-tokens.ts";
import { migrations, settings, version } from "./config.ts";
import { bootstrapAdministrator } from "./jobs/bootstrap.ts";
import { passwords } from "./passwords.ts";
import { sessionService } from "./rpc/session.ts";
import { seededRoles } from "./rules/catalogue.ts";
import { secretBox } from "./rules/secret-box.ts";
import { seedRoles } from "./store/roles.ts";

await runService({
  name: "identity",
  version,
  settings,
  migrations,
  async start({ db, config, process }) {
    const now = () => new Date();
    const hashing = passwords({ logN: config.PASSWORD_SCRYPT_LOG_N, queueMax: config.PASSWORD_QUEUE_MAX });
    await seedRoles(db, seededRoles, now());
    await bootstrapAdministrator(
      { db, passwords: hashing, log: process.log, now },
      { email: config.BOOTSTRAP_ADMIN_EMAIL, password: config.BOOTSTRAP_ADMIN_PASSWORD },
    );
    const sessions = sessionService({
      db,
      passwords: hashing,
      tokens: accessTokens(config.JWT_PRIVATE_KEYS, config.ACCESS_TOKEN_TTL_SECONDS),
      box: secretBox(config.SECRET_ENCRYPTION_KEY),
      idleDays: config.SESSION_IDLE_DAYS,
      maxDays: config.SESSION_MAX_DAYS,
      now,
    });
    return [register(SessionService, sessions)];
  },
});
