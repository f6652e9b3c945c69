import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { Tx } from "@muster/db";
import { type CallContext, isUuid, type SecretBox, validationError } from "@muster/kit";
import { WebhookChangeSchema, WebhookService } from "@muster/proto/muster/webhook/v1/webhook_pb";
import { callContext } from "@muster/rpc";
import { idempotentTx, type TenantReader } from "@muster/service";
import { changeWebhook } from "../rules/webhook.ts";
import { publicKeysOf } from "../store/public-keys.ts";
import {
  holdOrganizationOf,
  lockWebhook,
  openFields,
  rotateSecret,
  rotateSigningKey,
  type WebhookRow,
} from "../store/webhooks.ts";
import { requireWriter, webhookNotFound } from "./guards.ts";
import { record } from "./record.ts";
import { webhookMessage } from "./webhook-message.ts";

export type RotationDeps = TenantReader & {
  now: () => Date;
  box: SecretBox;
  /** Seals replies that hold a secret; its purpose is that of `sealedReplies`. */
  replyBox: SecretBox;
  secretGraceHours: number;
  /** Days for which payloads are kept. */
  retentionDays: number;
};

type Handlers = ServiceImpl<typeof WebhookService>;

/** Longest grace period, in which two secrets or keys sign. */
const maxGraceSeconds = 30 * 86_400;

/** New secrets and keys of webhooks, and the public keys for those who verify. */
export function rotations(
  deps: RotationDeps,
): Pick<Handlers, "rotateWebhookSecret" | "rotateWebhookSigningKey" | "getPublicKeys"> {
  const { db, now, box } = deps;
  const untilOf = (
    { graceSeconds = deps.secretGraceHours * 3_600 }: { graceSeconds?: number | undefined },
    at: Date,
  ) => {
    if (graceSeconds >= 0 && graceSeconds <= maxGraceSeconds) {
      return graceSeconds === 0 ? null : new Date(at.getTime() + graceSeconds * 1_000);
    }
    throw validationError({ graceSeconds: [`0 to ${maxGraceSeconds}`] });
  };
  return {
    async rotateWebhookSecret(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const graceUntil = untilOf(request, at);
      const secret = request.secret || `whsec_${randomBytes(32).toString("base64")}`;
      const run = async (tx: Tx, stored: WebhookRow) => {
        changeWebhook(openFields(box, stored), ["secret"], { ...create(WebhookChangeSchema), secret }, deps);
        const until = stored.secret_sealed ? graceUntil : null;
        const row = await rotateSecret(tx, box, stored, secret, until, at);
        const details = { previousSecretUntil: until?.toISOString() ?? null };
        record(tx, context, row, "webhook.rotate_secret", details, at);
        return {
          webhook: webhookMessage(row),
          secret,
          ...(until ? { previousSecretUntil: timestampFromDate(until) } : {}),
        };
      };
      const lock = locking(context, request.id);
      return idempotentTx(db, context, WebhookService.method.rotateWebhookSecret, request, lock, run, deps.replyBox);
    },

    async rotateWebhookSigningKey(request, handler) {
      const context = callContext(handler);
      requireWriter(context);
      const at = now();
      const graceUntil = untilOf(request, at);
      const run = async (tx: Tx, stored: WebhookRow) => {
        const until = stored.signing_key_sealed ? graceUntil : null;
        const row = await rotateSigningKey(tx, box, stored, until, at);
        const details = { previousKeyUntil: until?.toISOString() ?? null };
        record(tx, context, row, "webhook.rotate_signing_key", details, at);
        return { webhook: webhookMessage(row), ...(until ? { previousKeyUntil: timestampFromDate(until) } : {}) };
      };
      const { rotateWebhookSigningKey } = WebhookService.method;
      return idempotentTx(db, context, rotateWebhookSigningKey, request, locking(context, request.id), run);
    },

    /** For anybody: a webhook that is missing is answered as one without keys. */
    async getPublicKeys({ webhookId }) {
      return { keys: isUuid(webhookId) ? await publicKeysOf(db, webhookId, now()) : [] };
    },
  };
}

const locking =
  (context: CallContext, id: string) =>
  async (tx: Tx): Promise<WebhookRow> => {
    if (isUuid(id)) await holdOrganizationOf(tx, context, id);
    const stored = isUuid(id) ? await lockWebhook(tx, context, id) : null;
    if (!stored) throw webhookNotFound();
    return stored;
  };
