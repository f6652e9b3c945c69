import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { cookiePair } from "@muster/kit";

export const stateCookieName = "service_sso_state";

export type StateCookies = {
  /** A whole Set-Cookie value that binds a login flow to the browser that began it. */
  set(state: string): string;
  /** A cookie that deletes it. */
  end: string;
  /** Whether the cookie was made for this state, by any key that is still in the ring; in constant time. */
  matches(cookie: string, state: string): boolean;
};

/**
 * The state cookie: base64url HMAC-SHA-256 of the state, under a key derived from each encryption key.
 * `keys` is `id:base64[,…]`; the first makes, all check.
 */
export function stateCookies(
  keys: string,
  { path, secure, maxAgeSeconds }: { path: string; secure: boolean; maxAgeSeconds: number },
): StateCookies {
  const ring = keys.split(",").map((entry) => {
    const material = Buffer.from(entry.trim().split(":")[1] ?? "", "base64");
    return Buffer.from(hkdfSync("sha256", material, "", "muster/secret/sso-state", 32));
  });
  const macOf = (key: Buffer, state: string) => createHmac("sha256", key).update(state).digest();
  const attributes = `Path=${path}; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  return {
    set(state) {
      const mac = macOf(ring[0] as Buffer, state).toString("base64url");
      return `${cookiePair(stateCookieName, mac)}; Max-Age=${maxAgeSeconds}; ${attributes}`;
    },
    end: `${cookiePair(stateCookieName, "")}; Max-Age=0; ${attributes}`,
    matches(cookie, state) {
      const received = Buffer.from(cookie, "base64url");
      // Every key is tried, so that the time does not reveal which one matches.
      return ring.reduce((found, key) => {
        const mac = macOf(key, state);
        return (received.length === mac.length && timingSafeEqual(received, mac)) || found;
      }, false);
    },
  };
}
