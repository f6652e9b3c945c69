import { Secret, TOTP } from "otpauth";

const issuer = "Muster";
const periodSeconds = 30;
/** Steps by which a phone's clock may be off (RFC 6238, section 5.2). */
const window = 1;

const totpOf = (secret: Buffer, label: string) =>
  new TOTP({ issuer, label, algorithm: "SHA1", digits: 6, period: periodSeconds, secret: secretOf(secret) });

/** What an authenticator app needs: the secret in base 32 and its otpauth: URL. */
export function totpEnrollment(secret: Buffer, email: string): { secret: string; otpauthUrl: string } {
  const totp = totpOf(secret, email);
  return { secret: totp.secret.base32, otpauthUrl: totp.toString() };
}

/** The step whose code this is, now or one step beside it; null when it is none. */
export function matchingStep(secret: Buffer, code: string, now: Date): number | null {
  const timestamp = now.getTime();
  const delta = totpOf(secret, "").validate({ token: code, timestamp, window });
  return delta === null ? null : Math.floor(timestamp / 1000 / periodSeconds) + delta;
}

function secretOf(secret: Buffer): Secret {
  return new Secret({ buffer: Uint8Array.from(secret).buffer });
}
