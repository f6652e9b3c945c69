import { type Egress, guardedFetch } from "@muster/egress";
import { histogram, longerThan, textError } from "@muster/kit";
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
} from "openid-client";
import { quoted } from "../../rules/quoted.ts";
import type { ClaimSource } from "../../rules/sso/claims.ts";
import type { Discovered } from "../../rules/sso/provider.ts";
import { LoginFlowEnded } from "../../rules/sso/reasons.ts";
import { reasonOf } from "./discovery.ts";
import type { KeySets } from "./key-sets.ts";

/** A provider as sign-in needs it. */
export type OidcProvider = {
  id: string;
  generation: number;
  issuer: string;
  clientId: string;
  clientSecret: string;
  scopes: string;
  endpoints: Discovered;
};

export type OidcSecrets = { nonce: string; verifier: string };

export type OidcAnswer = {
  sub: string;
  /** Claims of the ID token, then of the user info. */
  sources: ClaimSource[];
  accessToken: string | null;
  refreshToken: string | null;
  expiresInSeconds: number | null;
};

/** Seconds that clocks may differ. */
const skewSeconds = 30;
/** Deadline that all calls of one callback to a provider share. */
const totalMs = 12_000;

const requestDuration = histogram(
  "muster_identity_sso_idp_request_duration_seconds",
  "Time of a call to an identity provider.",
  ["call"],
);

/** The URL to which the browser is redirected for sign-in, and the values that the callback needs (RFC 7636, S256). */
export async function authorizationRequest(
  provider: OidcProvider,
  { redirectUri, state }: { redirectUri: string; state: string },
): Promise<{ url: string; secrets: OidcSecrets }> {
  const secrets = { nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
  const url = buildAuthorizationUrl(configurationOf(provider), {
    redirect_uri: redirectUri,
    scope: provider.scopes,
    response_type: "code",
    state,
    nonce: secrets.nonce,
    code_challenge: await calculatePKCECodeChallenge(secrets.verifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, secrets };
}

/** What a callback brought. */
export type Callback = { state: string; code: string; iss: string };

/**
 * Redeems the code and verifies what came back: signature, issuer, audience, azp, expiry, nonce, the user info's
 * subject. Throws LoginFlowEnded at steps `iss` and `tokens`.
 */
export async function redeem(
  { egress, keys }: { egress: Egress; keys: KeySets },
  provider: OidcProvider,
  callback: Callback,
  { redirectUri, secrets }: { redirectUri: string; secrets: OidcSecrets },
): Promise<OidcAnswer> {
  if (callback.iss !== "" && callback.iss !== provider.issuer) {
    const found = `${quoted(callback.iss)}, expected ${quoted(provider.issuer)}`;
    throw new LoginFlowEnded("iss", "token_invalid", `the callback names another issuer: ${found}`);
  }
  if (callback.iss === "" && provider.endpoints.sendsIss) {
    throw new LoginFlowEnded("iss", "token_invalid", "the callback names no issuer, which this provider always does");
  }
  const config = configurationOf(provider);
  config[customFetch] = callbackFetch(egress, keys, provider);
  enableNonRepudiationChecks(config);
  const url = new URL(redirectUri);
  for (const [name, value] of Object.entries(callback)) if (value !== "") url.searchParams.set(name, value);
  try {
    const tokens = await authorizationCodeGrant(config, url, {
      pkceCodeVerifier: secrets.verifier,
      expectedNonce: secrets.nonce,
      expectedState: callback.state,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (!claims) throw new Error("no ID token came");
    if (claims.sub === "" || longerThan(claims.sub, 255)) throw new Error("`sub` must have 1 to 255 characters");
    const error = textError(claims.sub);
    if (error !== null) throw new Error(`\`sub\`: ${error}`);
    if (claims.iat > Date.now() / 1000 + skewSeconds) throw new Error("the ID token was issued in the future");
    const sources: ClaimSource[] = [claims];
    if (provider.endpoints.userInfoUrl !== null) {
      sources.push(await fetchUserInfo(config, tokens.access_token, claims.sub));
    }
    return {
      sub: claims.sub,
      sources,
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token ?? null,
      expiresInSeconds: tokens.expires_in ?? null,
    };
  } catch (cause) {
    throw new LoginFlowEnded("tokens", "token_invalid", detailOf(cause), { cause });
  }
}

function configurationOf({ issuer, clientId, clientSecret, endpoints }: OidcProvider): Configuration {
  const server = {
    issuer,
    authorization_endpoint: endpoints.authorizationUrl,
    token_endpoint: endpoints.tokenUrl,
    ...(endpoints.userInfoUrl === null ? {} : { userinfo_endpoint: endpoints.userInfoUrl }),
    jwks_uri: endpoints.jwksUrl,
    id_token_signing_alg_values_supported: endpoints.signingAlgorithms,
    authorization_response_iss_parameter_supported: endpoints.sendsIss,
  };
  const onlyPost =
    endpoints.tokenAuthMethods.includes("client_secret_post") &&
    !endpoints.tokenAuthMethods.includes("client_secret_basic");
  const auth = onlyPost ? ClientSecretPost(clientSecret) : ClientSecretBasic(clientSecret);
  return new Configuration(server, clientId, { [clockTolerance]: skewSeconds }, auth);
}

/** Calls of one callback: guarded, within 12 s together, and with the provider's keys from their cache. */
function callbackFetch(egress: Egress, keys: KeySets, provider: OidcProvider) {
  const outgoing = guardedFetch(egress);
  const endMs = performance.now() + totalMs;
  let kid: string | null = null;
  const timed = async (call: string, url: string, init?: RequestInit): Promise<Response> => {
    const leftMs = endMs - performance.now();
    if (leftMs <= 0) throw new Error("the provider took longer than 12 s in all");
    const began = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error("the provider took longer than 12 s in all")), leftMs);
    });
    try {
      return await Promise.race([outgoing(url, init), late]);
    } finally {
      clearTimeout(timer);
      requestDuration.observe({ call }, (performance.now() - began) / 1000);
    }
  };
  return async (url: string, options: unknown): Promise<Response> => {
    const init = options as RequestInit;
    const { jwksUrl, tokenUrl } = provider.endpoints;
    if (url === jwksUrl) {
      const text = await keys.get(`${provider.id}/${jwksUrl}`, kid, () => timed("jwks", url, init));
      return new Response(text, { headers: { "content-type": "application/json" } });
    }
    if (url !== tokenUrl) return timed("userinfo", url, init);
    const reply = await timed("token", url, init);
    kid = kidOf(await reply.clone().text());
    return reply;
  };
}

/** The id of the key that signed the ID token of a token response, from its header. */
function kidOf(text: string): string | null {
  try {
    const { id_token: token } = JSON.parse(text) as { id_token?: unknown };
    const header = Buffer.from(String(token).split(".")[0] ?? "", "base64url").toString();
    const { kid } = JSON.parse(header) as { kid?: unknown };
    return typeof kid === "string" ? kid : null;
  } catch {
    return null;
  }
}

/** What an ID token said in place of the issuer or the audience; other claims may be secrets of the sign-in. */
function mismatchIn(cause: unknown): string {
  const { claim, claims, expected } = (cause ?? {}) as { claim?: unknown; claims?: unknown; expected?: unknown };
  if ((claim !== "iss" && claim !== "aud") || typeof claims !== "object" || claims === null) return "";
  const found = JSON.stringify((claims as Record<string, unknown>)[claim]) ?? "nothing";
  return typeof expected === "string"
    ? `: ${found.slice(0, 300)}, expected ${quoted(expected)}`
    : `: ${found.slice(0, 300)}`;
}

/** The failure in terms of the libraries and the provider's error code; neither contains tokens or codes. */
function detailOf(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error; at instanceof Error && parts.length < 4; at = at.cause) {
    const { error: code, error_description: said } = at as { error?: unknown; error_description?: unknown };
    const text = [code, said].filter((each) => typeof each === "string").join(": ");
    parts.push(text === "" ? `${at.message}${mismatchIn(at.cause)}` : `${at.message} (${text})`);
  }
  return (parts.join(" ← ") || reasonOf(error)).slice(0, 1_000);
}
