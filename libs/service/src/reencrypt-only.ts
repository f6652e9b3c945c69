import { openDatabase } from "@muster/db";
import { createLogger, databaseUrl, loadConfig, serviceSettings } from "@muster/kit";
import { z } from "zod";
import { encryptionKeys, encryptionSettings } from "./encryption-keys.ts";
import { reencrypt } from "./reencrypt.ts";
import type { SealedColumn } from "./sealed-column.ts";

const settings = z.object({
  DATABASE_URL: databaseUrl().describe("PostgreSQL as the schema's owner."),
  ...encryptionSettings,
  LOG_LEVEL: serviceSettings.LOG_LEVEL,
});

/**
 * `main.js reencrypt`: seals the service's secrets under the first key and ends, with status 1 when not all of them
 * are.
 */
export async function reencryptOnly(service: string, columns: readonly SealedColumn[]): Promise<void> {
  let log = createLogger(service);
  try {
    const config = loadConfig(settings);
    log = createLogger(service, config.LOG_LEVEL);
    const db = openDatabase({ url: config.DATABASE_URL, max: 2, name: service, log });
    try {
      const result = await reencrypt({ db, keys: encryptionKeys(config), columns, log });
      log.info(result, "re-encrypted: older keys are needed no longer");
    } finally {
      await db.close();
    }
  } catch (err) {
    log.fatal({ err }, "re-encryption failed");
    process.exitCode = 1;
  }
}
