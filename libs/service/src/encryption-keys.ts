import { ConfigError, sealingKeys } from "@muster/kit";

/** Settings of a service that seals secrets at rest. */
export const encryptionSettings = {
  SECRET_ENCRYPTION_KEY: sealingKeys()
    .optional()
    .describe("id:base64 32-byte keys for secrets at rest, comma-separated; the first encrypts, all decrypt."),
  APP_ENCRYPTION_KEY: sealingKeys()
    .optional()
    .describe("Older name of SECRET_ENCRYPTION_KEY; used when that one is not set."),
};

/** Keys for secrets at rest, under either name. Throws ConfigError when neither is set. */
export function encryptionKeys(config: {
  SECRET_ENCRYPTION_KEY?: string | undefined;
  APP_ENCRYPTION_KEY?: string | undefined;
}): string {
  const keys = config.SECRET_ENCRYPTION_KEY ?? config.APP_ENCRYPTION_KEY;
  if (!keys) throw new ConfigError(["SECRET_ENCRYPTION_KEY or APP_ENCRYPTION_KEY must be set"]);
  return keys;
}
