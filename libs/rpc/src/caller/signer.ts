import { type Caller, gauge } from "@muster/kit";
import { SignJWT } from "jose";
import { BoundedMap } from "./bounded-map.ts";
import { callerAudience, maxTokenSeconds, toClaims } from "./caller-claims.ts";
import { parsePrivateKeys } from "./caller-keys.ts";

const issuedTokens = gauge(
  "muster_rpc_issued_caller_tokens",
  "Caller tokens kept for reuse, one per principal and service.",
);

/** Tokens with less remaining life are issued again: the receiver's clock may be ahead, the call may queue. */
const freshForMs = 15_000;
const maxTokens = 30_000;

export type Signer = {
  /**
   * The caller's token for calls of one service, reused until near expiry. A Caller object must not be changed after it
   * was given here.
   */
  tokenFor(caller: Caller, service: string): Promise<string>;
  /** Drops the tokens of the callers that match, so that the next call gets one that is true. */
  forget(matches: (caller: Caller) => boolean): void;
};

type Issued = { caller: Caller; token: Promise<string>; freshUntilMs: number };

/** Issues Ed25519 caller tokens as `issuer` with the first of `privateKeys`; throws when no key can be read. */
export function createSigner(options: { issuer: string; privateKeys: string; now?: () => number }): Signer {
  const now = options.now ?? Date.now;
  const [signing] = parsePrivateKeys(options.privateKeys);
  if (!signing) throw new Error("No caller private key is given");
  const byContent = new BoundedMap<string, Issued>(maxTokens);
  // Callers are mostly the same object again (a cached session): this spares writing them out on every call.
  const byObject = new WeakMap<Caller, Map<string, Issued>>();

  const issue = (caller: Caller, service: string, nowMs: number): Promise<string> => {
    const issuedAt = Math.floor(nowMs / 1000);
    return new SignJWT({ ...toClaims(caller) })
      .setProtectedHeader({ alg: "EdDSA", kid: signing.kid, typ: "JWT" })
      .setIssuer(options.issuer)
      .setAudience(callerAudience(service))
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + maxTokenSeconds)
      .sign(signing.key);
  };

  return {
    async tokenFor(caller, service) {
      const nowMs = now();
      let tokens = byObject.get(caller);
      const cached = tokens?.get(service);
      if (cached && cached.freshUntilMs > nowMs) return cached.token;
      const content = `${service} ${JSON.stringify(caller)}`;
      let issued = byContent.get(content);
      if (!issued || issued.freshUntilMs <= nowMs) {
        const fresh: Issued = {
          caller,
          token: issue(caller, service, nowMs),
          freshUntilMs: nowMs + maxTokenSeconds * 1000 - freshForMs,
        };
        fresh.token.catch(() => {
          fresh.freshUntilMs = 0;
        });
        byContent.set(content, fresh);
        issuedTokens.set(byContent.size);
        issued = fresh;
      }
      tokens ??= new Map();
      byObject.set(caller, tokens.set(service, issued));
      return issued.token;
    },
    forget(matches) {
      for (const [content, issued] of [...byContent.entries()]) {
        if (!matches(issued.caller)) continue;
        issued.freshUntilMs = 0;
        byContent.delete(content);
      }
    },
  };
}
