import { AppError, type Caller, fieldsOf, gauge, type Logger } from "@muster/kit";
import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from "jose";
import { BoundedMap } from "./bounded-map.ts";
import { callerAudience, fromClaims, maxTokenSeconds } from "./caller-claims.ts";
import { type PublicKeys, readPublicKeys, sameKeys } from "./caller-keys.ts";
import { mayIssue, systemOpens } from "./issuers.ts";
import { portalOpens } from "./portal-rpcs.ts";

const verifiedTokens = gauge("muster_rpc_verified_caller_tokens", "Caller tokens cached as verified.");

const rereadMs = 30_000;
/** At most one extra reading per this time, however many tokens name unknown keys. */
const rereadUnknownMs = 1_000;
const clockToleranceSeconds = 5;
const maxTokens = 10_000;
const maxTokenCharacters = 16 * 1024 * 1024;

export type Verifier = {
  /**
   * The caller of `rpc` ("package.Service/Method"). Throws (or rejects with) `unauthenticated` for a missing, forged,
   * expired or foreign token, `permission_denied` when a service acting as itself does not open this RPC.
   */
  verify(token: string | undefined, rpc: string): Caller | Promise<Caller>;
  /** Reads the public keys again now. */
  reload(): void;
  close(): void;
};

type Verified = { caller: Caller; issuer: string; expiresAtMs: number };

export type VerifierOptions = {
  directory: string;
  /** Whose tokens are taken: those for this service alone. */
  service: string;
  log?: Logger;
  now?: () => number;
};

/**
 * Verifies caller tokens with the keys under `directory` (<issuer>/<kid>.pem), which is read again every 30 s and, at
 * most once a second, for an unknown kid. A token is verified once and then cached until it expires or its key
 * goes.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  return new TokenVerifier(options);
}

class TokenVerifier implements Verifier {
  readonly #options: VerifierOptions;
  readonly #now;
  readonly #audience: ReturnType<typeof callerAudience>;
  readonly #verified = new BoundedMap<string, Verified>(maxTokens, maxTokenCharacters);
  #keys: PublicKeys;
  #readAtMs: number;
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(options: VerifierOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#audience = callerAudience(options.service);
    this.#keys = readPublicKeys(options.directory);
    this.#readAtMs = this.#now();
    this.#timer = setInterval(this.reload, rereadMs);
    this.#timer.unref();
  }

  readonly reload = () => {
    this.#readAtMs = this.#now();
    try {
      const found = readPublicKeys(this.#options.directory);
      if (sameKeys(this.#keys, found)) return;
      this.#keys = found;
      // A removed key must not stay valid through the cached tokens that it signed.
      this.#verified.clear();
    } catch (err) {
      this.#options.log?.error(
        { err, service: this.#options.service },
        "caller keys not readable, keeping the last reading",
      );
    }
  };

  async #check(token: string): Promise<Verified> {
    const { payload, issuer, keysUsed } = await this.#verifySignature(token);
    const caller = fromClaims(payload);
    if (!mayIssue(issuer, caller.actor.type)) throw new Error(`${issuer} may not issue ${caller.actor.type}`);
    if (caller.actor.type === "system" && caller.actor.id !== issuer) {
      throw new Error(`${issuer} may not act as ${caller.actor.id}`);
    }
    const { exp = 0, iat = 0 } = payload;
    if (exp - iat > maxTokenSeconds) throw new Error("token lives too long");
    const result = { caller, issuer, expiresAtMs: (exp + clockToleranceSeconds) * 1000 };
    if (keysUsed === this.#keys) this.#verified.set(token, result, token.length);
    verifiedTokens.set(this.#verified.size);
    return result;
  }

  async #verifySignature(token: string): Promise<{ payload: JWTPayload; issuer: string; keysUsed: PublicKeys }> {
    // The issuer decides which keys count, so it is read first; the signature then proves it.
    const issuer = unverifiedIssuer(token);
    const { kid } = decodeProtectedHeader(token);
    const name = `${issuer}/${kid ?? ""}`;
    if (!this.#keys.has(name) && this.#now() - this.#readAtMs >= rereadUnknownMs) this.reload();
    const keysUsed = this.#keys;
    const key = keysUsed.get(name);
    if (!key) throw new Error("unknown key");
    const { payload } = await jwtVerify(token, key, {
      algorithms: ["EdDSA"],
      audience: this.#audience,
      issuer,
      clockTolerance: clockToleranceSeconds,
      requiredClaims: ["iat", "exp"],
      maxTokenAge: maxTokenSeconds,
      currentDate: new Date(this.#now()),
    });
    return { payload, issuer, keysUsed };
  }

  #admit(found: Verified, rpc: string): Caller {
    if (found.caller.actor.type === "system" && !systemOpens(found.issuer, rpc)) {
      throw new AppError("permission_denied", "This service may not call this method");
    }
    if (!portalOpens(found.caller, rpc)) throw new AppError("not_found", "Not found");
    return found.caller;
  }

  readonly verify = (token: string | undefined, rpc: string): Caller | Promise<Caller> => {
    if (!token) throw new AppError("unauthenticated", "Caller is not authenticated");
    const found = this.#verified.get(token);
    if (found && found.expiresAtMs > this.#now()) return this.#admit(found, rpc);
    return this.#check(token).then(
      (result) => this.#admit(result, rpc),
      (cause: unknown) => {
        const expired = cause instanceof errors.JWTExpired ? { reason: "expired" } : {};
        this.#options.log?.warn(
          { err: cause, service: this.#options.service, rpc, ...expired },
          "caller token refused",
        );
        throw new AppError("unauthenticated", "Caller is not authenticated", { cause });
      },
    );
  };

  readonly close = (): void => {
    clearInterval(this.#timer);
  };
}

function unverifiedIssuer(token: string): string {
  const payload: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  const { iss: issuer } = fieldsOf(payload);
  if (typeof issuer !== "string") throw new Error("token has no issuer");
  return issuer;
}
