import { createHash } from "node:crypto";
import { z } from "zod";
import { Rendered } from "../../route/reply.ts";
import { type Route, route } from "../../route/route.ts";
import { id, idParams, objectOut, timeOrNull, timeOut } from "../fields/schemas.ts";
import { secretIn } from "../fields/signing-secret.ts";
import { webhook } from "./webhook-fields.ts";
import { webhookOf } from "./webhook-replies.ts";

const tag = "Webhooks";

const rotation = {
  auth: "session",
  permission: "webhooks:write",
  keyScopes: ["webhooks:write"],
  portal: "rotate_secrets",
} as const;

const graceIn = z
  .int()
  .min(0)
  .max(30 * 86_400)
  .optional()
  .meta({
    description: "Seconds for which the previous one also signs; 0 ends it at once. Without it, SECRET_GRACE_HOURS.",
  });

const rotateSecret = route({
  method: "POST",
  path: "/webhooks/:id/rotate-secret",
  audit: "webhook.rotate_secret",
  access: rotation,
  tag,
  summary: "Rotate a webhook's signing secret",
  description:
    "The previous secret signs beside the new one until `previousSecretUntil`: in `webhook-signature`, and as `X-Service-Signature-Previous`. A second rotation ends the first one's grace period.",
  params: idParams,
  body: z.object({
    secret: secretIn.min(1).optional().meta({ description: "The new secret; without it, one is generated." }),
    graceSeconds: graceIn,
  }),
  idempotent: true,
  noStore: true,
  reply: z.object({ webhook, secret: z.string(), previousSecretUntil: timeOut.nullable() }),
  errors: ["webhook_not_found", "site_restricted"],
  async handle({ params, body, rpc }, { services }) {
    const reply = await services.webhooks.rotateWebhookSecret(
      { id: params.id, secret: body.secret ?? "", graceSeconds: body.graceSeconds },
      await rpc(),
    );
    const previousSecretUntil = timeOrNull(reply.previousSecretUntil);
    return { webhook: webhookOf(reply.webhook), secret: reply.secret, previousSecretUntil };
  },
});

const rotateKey = route({
  method: "POST",
  path: "/webhooks/:id/rotate-signing-key",
  audit: "webhook.rotate_signing_key",
  access: rotation,
  tag,
  summary: "Rotate a webhook's key pair",
  description:
    "The previous key signs beside the new one until `previousKeyUntil`. A webhook without a key pair gets its first one, as by `asymmetricSignature: true`.",
  params: idParams,
  body: z.object({ graceSeconds: graceIn }),
  idempotent: true,
  reply: z.object({ webhook, previousKeyUntil: timeOut.nullable() }),
  errors: ["webhook_not_found", "site_restricted"],
  async handle({ params, body, rpc }, { services }) {
    const wanted = { id: params.id, graceSeconds: body.graceSeconds };
    const reply = await services.webhooks.rotateWebhookSigningKey(wanted, await rpc());
    return { webhook: webhookOf(reply.webhook), previousKeyUntil: timeOrNull(reply.previousKeyUntil) };
  },
});

const reveal = route({
  method: "POST",
  path: "/webhooks/:id/reveal-secret",
  audit: "webhook.reveal_secret",
  access: { auth: "session", permission: "webhooks:write", mfa: true, portal: "reveal_secrets" },
  tag,
  summary: "Reveal a webhook's signing secret",
  description: "The one that signs now. Never for API keys, which set or rotate it.",
  params: idParams,
  noStore: true,
  reply: z.object({ secret: z.string().nullable().meta({ description: "Null when the webhook has none." }) }),
  errors: ["webhook_not_found", "site_restricted"],
  async handle({ params, rpc }, { services }) {
    const { secret } = await services.webhooks.revealWebhookSecret({ id: params.id }, await rpc());
    return { secret: secret || null };
  },
});

const jwksType = "application/jwk-set+json";

const publicKeys = route({
  method: "GET",
  path: "/.well-known/webhooks/:webhookId/jwks.json",
  atRoot: true,
  access: { auth: "none" },
  tag,
  summary: "Public keys that a webhook signs with (RFC 8037)",
  description: "The current one first. No keys for a webhook that has none, or that is missing.",
  params: z.object({ webhookId: id }),
  contentType: jwksType,
  reply: z.object({ keys: z.array(objectOut) }).meta({ id: "WebhookKeySet" }),
  async handle({ params, rpc }, { services }) {
    const { keys } = await services.webhooks.getPublicKeys({ webhookId: params.webhookId }, await rpc());
    return new Rendered(JSON.stringify({ keys: keys.map(jwkOf) }), jwksType, "public, max-age=300");
  },
});

/** A public key of ed25519 as JWK (RFC 8037) with its thumbprint (RFC 7638), and as Standard Webhooks writes it. */
function jwkOf(key: Uint8Array) {
  const bytes = Buffer.from(key);
  const required = { crv: "Ed25519", kty: "OKP", x: bytes.toString("base64url") };
  const kid = createHash("sha256").update(JSON.stringify(required)).digest("base64url");
  return { ...required, alg: "EdDSA", use: "sig", kid, whpk: `whpk_${bytes.toString("base64")}` };
}

export const webhookSignatureRoutes: readonly Route[] = [rotateSecret, rotateKey, reveal, publicKeys];
