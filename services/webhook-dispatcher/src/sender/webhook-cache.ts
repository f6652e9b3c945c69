import type { KeyObject } from "node:crypto";
import { type Statement, sql } from "@muster/db";
import type { SecretBox } from "@muster/kit";
import type { Retries } from "../rules/schedule.ts";
import { signerOf } from "../rules/signing-key.ts";
import { splitUserinfo } from "../rules/target.ts";
import type { Header } from "../rules/webhook.ts";
import type { Claimed } from "../store/queue.ts";
import { openFields, sealedAt, type WebhookRow } from "../store/webhooks.ts";

/** A webhook with its secrets opened, as it was when its delivery was claimed. */
export type OpenedWebhook = {
  generation: number;
  /** Without userinfo and fragment. */
  url: string;
  userinfo: string | null;
  secret: string | null;
  previous: { secret: string; untilMs: number } | null;
  /** The keys of v1a; null: it signs with its secret alone. */
  signers: { current: KeyObject; previous: { signer: KeyObject; untilMs: number } | null } | null;
  headers: readonly Header[];
  retries: Retries;
};

/** Most cached webhooks. */
const maxCached = 5_000;

/** Opened webhooks by id; one of an older generation than a claim's is read and opened again. */
export function webhookCache(box: SecretBox) {
  const cached = new Map<string, OpenedWebhook>();
  const isStale = ({ webhook_id: id, generation }: Claimed) => cached.get(id)?.generation !== generation;
  return {
    /**
     * Reads the webhooks that are not cached in the claimed generation, in the transaction of the claim or after it, so
     * that none is older than the claim.
     */
    async load(read: (statement: Statement) => Promise<WebhookRow[]>, claims: readonly Claimed[]): Promise<void> {
      const stale = new Set(claims.filter(isStale).map(({ webhook_id: id }) => id));
      if (stale.size === 0) return;
      const rows = await read(sql`
        SELECT id, org_id, partner_id, name, url_sealed, url_shown, secret_sealed, previous_secret_sealed,
               previous_secret_until, headers_sealed, header_names, events, status, retry_policy, retry_schedule, ordered,
               generation, created_by, created_at, updated_at, signing_key_sealed, previous_signing_key_sealed,
               previous_signing_key_until, filter
        FROM webhooks WHERE id = ANY (${[...stale]}::uuid[])`);
      for (const row of rows) {
        cached.delete(row.id);
        cached.set(row.id, openWebhook(box, row));
      }
      for (const oldest of cached.keys()) {
        if (cached.size <= maxCached) break;
        if (!claims.some(({ webhook_id: id }) => id === oldest)) cached.delete(oldest);
        else break;
      }
    },
    get: (id: string): OpenedWebhook | null => cached.get(id) ?? null,
  };
}

function openWebhook(box: SecretBox, row: WebhookRow): OpenedWebhook {
  const fields = openFields(box, row);
  const { url, userinfo } = splitUserinfo(fields.url);
  const until = row.previous_secret_until;
  const previous = row.previous_secret_sealed && until;
  return {
    generation: row.generation,
    url,
    userinfo,
    secret: fields.secret,
    previous: previous
      ? {
          secret: box.open(row.previous_secret_sealed as Buffer, sealedAt.secret(row.id)).toString(),
          untilMs: until.getTime(),
        }
      : null,
    signers: signersOf(box, row),
    headers: fields.headers,
    retries: { policy: row.retry_policy, schedule: row.retry_schedule ?? "standard" },
  };
}

function signersOf(box: SecretBox, row: WebhookRow): OpenedWebhook["signers"] {
  const {
    id,
    signing_key_sealed: current,
    previous_signing_key_sealed: previous,
    previous_signing_key_until: until,
  } = row;
  if (!current) return null;
  const open = (sealed: Buffer) => signerOf(box.open(sealed, sealedAt.signingKey(id)));
  return {
    current: open(current),
    previous: previous && until ? { signer: open(previous), untilMs: until.getTime() } : null,
  };
}
