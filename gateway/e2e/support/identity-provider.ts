import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import { listening, testCertificate } from "@muster/testing";
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import Provider from "oidc-provider";
import { type Cluster, receiverHost } from "./cluster.ts";
import { claimReceiverPort } from "./receiver.ts";

export type Account = {
  sub: string;
  email?: string;
  email_verified?: boolean | string;
  name?: string;
  [claim: string]: unknown;
};

/** A new user without an account. */
export function newAccount(change: Partial<Account> = {}): Account {
  const name = randomUUID().slice(0, 8);
  return { sub: `sub-${name}`, email: `${name}@sso.example`, email_verified: true, name: `Person ${name}`, ...change };
}

/** Changes the JSON of an answer on its way out. */
export type Tamper = (body: Record<string, unknown>) => Record<string, unknown> | Promise<Record<string, unknown>>;

export type Idp = Awaited<ReturnType<typeof startIdp>>;

/**
 * A real OpenID provider over HTTPS with a certificate of the test CA, at a port that the cluster's services may reach.
 */
export async function startIdp(cluster: Cluster, options: { clients?: number } = {}) {
  const { port, release } = await claimReceiverPort(cluster);
  const issuer = `https://${receiverHost}:${port}`;
  const accounts = new Map<string, Account>();
  const secret = randomBytes(32).toString("base64url");
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: "first", alg: "RS256", use: "sig" };
  const redirectUri = `http://localhost:${new URL(cluster.url).port}/api/v1/sso/callback`;
  const clients = Array.from({ length: options.clients ?? 3 }, (_, n) => ({
    client_id: `muster-${n}`,
    client_secret: secret,
    redirect_uris: [redirectUri],
    response_types: ["code" as const],
    grant_types: ["authorization_code"],
  }));
  let current = "";
  let isAsking = false;
  const provider = new Provider(issuer, {
    clients,
    jwks: { keys: [key] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ ...accounts.get(id), sub: id }) as Account }),
    async loadExistingGrant(ctx) {
      const { client, session } = ctx.oidc;
      const grant = new ctx.oidc.provider.Grant({
        ...(client ? { clientId: client.clientId } : {}),
        ...(session?.accountId ? { accountId: session.accountId } : {}),
      });
      grant.addOIDCScope("openid email profile groups");
      await grant.save();
      return grant;
    },
  });
  const tampers = new Map<string, Tamper>();
  const seen: string[] = [];
  const verifiers: string[] = [];
  provider.on("grant.success", ({ oidc }) => {
    verifiers.push(String(oidc.params?.code_verifier));
  });
  const handle = provider.callback();

  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? "/", issuer);
    seen.push(pathname);
    if (pathname.startsWith("/interaction/")) {
      if (isAsking && request.method === "GET") {
        response.setHeader("content-type", "text/html");
        response.end(signInPage);
        return;
      }
      // The configured user is signed in without a prompt.
      await provider.interactionFinished(request, response, { login: { accountId: current } });
      return;
    }
    const tamper = tampers.get(pathname);
    if (tamper) rewrite(response, tamper);
    await handle(request, response);
  };
  const server = createServer(testCertificate(), (request, response) => {
    listener(request, response).catch((error: unknown) => {
      response.destroy(error as Error);
    });
  });
  const { close } = await listening(server, port);
  return {
    issuer,
    secret,
    clientId: (n = 0) => `muster-${n}`,
    /** Requested paths, oldest first. */
    seen,
    /** PKCE verifiers that redeemed a code, oldest first. */
    verifiers,
    tampers,
    privateKey,
    /** Sets the account that signs in from now on. */
    become(account: Account) {
      accounts.set(account.sub, account);
      current = account.sub;
    },
    /** From now on a sign-in without a session at the provider is shown a page first. */
    ask() {
      isAsking = true;
    },
    /** An ID token of any claims, signed as asked. */
    sign: (
      claims: JWTPayload,
      header: { alg: string; kid?: string; [name: string]: unknown },
      by: CryptoKey | Uint8Array,
    ) => new SignJWT(claims).setProtectedHeader(header).sign(by),
    async close() {
      server.closeAllConnections();
      await close();
      await release();
    },
  };
}

const signInPage =
  "<!doctype html><title>Identity provider</title><h1>Identity provider</h1><form method=post><button>Let me in</button></form>";

/** Passes what is sent through `tamper`; the provider writes each JSON body at once. */
function rewrite(response: ServerResponse, tamper: Tamper): void {
  const end = response.end.bind(response);
  response.end = ((body?: string | Buffer) => {
    const send = async () => {
      const text = body === undefined ? "" : String(body);
      const changed = text.startsWith("{") ? JSON.stringify(await tamper(JSON.parse(text))) : text;
      response.setHeader("content-length", Buffer.byteLength(changed));
      end(changed);
    };
    send().catch((error: unknown) => response.destroy(error as Error));
    return response;
  }) as typeof response.end;
}
