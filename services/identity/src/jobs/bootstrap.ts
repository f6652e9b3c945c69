import { randomBytes } from "node:crypto";
import { type Database, sql } from "@muster/db";
import { ConfigError, type Logger, uuidv7 } from "@muster/kit";
import { claimAddress } from "../commands/claim-address.ts";
import type { Passwords } from "../crypto/passwords.ts";
import { asService } from "../rules/as-service.ts";
import { newPasswordError } from "../rules/password-policy.ts";
import { lockAddress } from "../store/addresses.ts";
import { hasAdministrator, insertFirstAdministrator } from "../store/roles.ts";

type Deps = { db: Database; passwords: Passwords; log: Logger; now: () => Date };

/**
 * Creates the first platform administrator when there is none. Throws ConfigError on a configured password that the
 * policy refuses. A generated password is logged once and not stored.
 */
export async function bootstrapAdministrator(
  { db, passwords, log, now }: Deps,
  admin: { email: string; password: string | undefined },
): Promise<void> {
  const who = asService();
  await db.tx(who, async (tx) => {
    await tx.query(sql`SELECT pg_advisory_xact_lock(hashtext('identity.bootstrap'))`);
    if (await hasAdministrator(tx)) return;
    const error = admin.password === undefined ? null : newPasswordError(admin.password, admin.email);
    if (error) throw new ConfigError([`BOOTSTRAP_ADMIN_PASSWORD: ${error}`]);
    const password = admin.password ?? randomBytes(18).toString("base64url");
    const passwordHash = await passwords.hash(password);
    const user = { id: uuidv7(), name: "Platform administrator", passwordHash };
    await lockAddress(tx, admin.email);
    const tenant = { partnerId: null, orgId: null };
    const account = { userId: user.id, name: user.name, tenant };
    const claim = { email: admin.email, by: tenant, evidence: "none" as const };
    const address = await claimAddress(tx, who, account, claim, now());
    if (!address) throw new ConfigError(["BOOTSTRAP_ADMIN_EMAIL: the address is the proven one of another account"]);
    await insertFirstAdministrator(tx, address, user, now());
    if (admin.password === undefined) {
      log.warn({ email: admin.email, oneTimePassword: password }, "first administrator created; change this password");
    } else log.info({ email: admin.email }, "first administrator created");
  });
}
