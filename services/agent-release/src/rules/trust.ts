import { AppError } from "@muster/kit";

export type TrustSettings = { keys: number; nodeEnv: string; allowUnsigned: boolean };

/**
 * Whether releases without a verified signature may be registered and offered: where an operator says so, and on a
 * development machine without keys. In production the platform would otherwise install on every device what anybody
 * with access to the release host publishes.
 */
export function mayBeUnsigned({ keys, nodeEnv, allowUnsigned }: TrustSettings): boolean {
  return allowUnsigned || (keys === 0 && nodeEnv !== "production");
}

/** What `/readyz?verbose` and the log say about releases. */
export function trustState(settings: TrustSettings): string {
  if (settings.keys > 0) return "ok";
  if (mayBeUnsigned(settings)) return "unsigned releases are offered";
  return "release_untrusted: RELEASE_MANIFEST_KEYS is empty, so that no release is registered, and no unsigned one offered";
}

export const notSigned = (reason: string): AppError =>
  new AppError("release_untrusted", "The release is not signed by a known key", { facts: { reason } });
