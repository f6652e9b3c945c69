import { type Egress, EgressRefused, failureOf, guardedFetch } from "@muster/egress";
import { AppError } from "@muster/kit";
import { quoted } from "../../rules/quoted.ts";
import type { Discovered } from "../../rules/sso/provider.ts";

/** Signatures that an ID token may have: asymmetric alone, never none. */
export const signingAlgorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

/** `sso_discovery_failed` with the step that failed and why. */
export const discoveryFailed = (step: string, reason: string, cause?: unknown) =>
  new AppError("sso_discovery_failed", `The identity provider could not be used: ${reason}`, {
    facts: { step, reason },
    cause,
  });

/**
 * An issuer's metadata (OpenID Connect Discovery 1.0). The document's issuer equals the requested one byte for byte;
 * each endpoint is https with a public address. Throws `sso_discovery_failed` with `step`: fetch, status, document,
 * issuer, endpoints.
 */
export async function discover(egress: Egress, issuer: string): Promise<Discovered> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const reply = await guardedFetch(egress)(url, { headers: { accept: "application/json" } }).catch((error: unknown) => {
    throw discoveryFailed("fetch", reasonOf(error), error);
  });
  if (reply.status !== 200) throw discoveryFailed("status", `the discovery document answered ${reply.status}`);
  const document: unknown = await reply.json().catch((error: unknown) => {
    throw discoveryFailed("document", "the discovery document is not JSON", error);
  });
  if (typeof document !== "object" || document === null) {
    throw discoveryFailed("document", "the discovery document is not an object");
  }
  const metadata = document as Record<string, unknown>;
  if (metadata.issuer !== issuer) {
    const found = typeof metadata.issuer === "string" ? quoted(metadata.issuer) : "none";
    throw discoveryFailed(
      "issuer",
      `the discovery document names another issuer: ${found}, expected ${quoted(issuer)}`,
    );
  }
  const found: Discovered = {
    authorizationUrl: textOf(metadata, "authorization_endpoint"),
    tokenUrl: textOf(metadata, "token_endpoint"),
    userInfoUrl: typeof metadata.userinfo_endpoint === "string" ? metadata.userinfo_endpoint : null,
    jwksUrl: textOf(metadata, "jwks_uri"),
    tokenAuthMethods: textsOf(metadata.token_endpoint_auth_methods_supported, ["client_secret_basic"]),
    signingAlgorithms: textsOf(metadata.id_token_signing_alg_values_supported, ["RS256"]).filter((name) =>
      signingAlgorithms.includes(name),
    ),
    sendsIss: metadata.authorization_response_iss_parameter_supported === true,
  };
  if (found.signingAlgorithms.length === 0) {
    throw discoveryFailed("document", "the issuer signs ID tokens with no algorithm that is accepted here");
  }
  await checkEndpoints(egress, [found.authorizationUrl, found.tokenUrl, found.userInfoUrl, found.jwksUrl]);
  return found;
}

/** Each URL is https and leads to the public internet now. Throws `sso_discovery_failed` with step `endpoints`. */
export async function checkEndpoints(egress: Egress, urls: readonly (string | null)[]): Promise<void> {
  const wanted = [...new Set(urls.filter((url) => url !== null))];
  await Promise.all(
    wanted.map((url) =>
      egress.check(url).catch((error: unknown) => {
        throw discoveryFailed("endpoints", `${hostOf(url)}: ${reasonOf(error)}`, error);
      }),
    ),
  );
  const tooLong = wanted.find((url) => url.length > 500);
  if (tooLong !== undefined) throw discoveryFailed("endpoints", `${hostOf(tooLong)}: longer than 500 characters`);
}

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : "an endpoint");

/** A sentence for administrators: no address, no header of what answered. */
export function reasonOf(error: unknown): string {
  if (error instanceof EgressRefused) return error.message;
  if (!(error instanceof Error)) return "the connection failed";
  const { name, message } = error;
  if (name === "EgressLimit") return message;
  if (name === "TimeoutError" || name === "AbortError") return "no answer in time";
  return failureOf(error).message;
}

function textOf(metadata: Record<string, unknown>, name: string): string {
  const value = metadata[name];
  if (typeof value !== "string" || value === "") throw discoveryFailed("document", `the document lacks ${name}`);
  return value;
}

function textsOf(value: unknown, otherwise: string[]): string[] {
  if (!Array.isArray(value)) return otherwise;
  return value.filter((item): item is string => typeof item === "string").slice(0, 50);
}
