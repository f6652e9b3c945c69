import { type SealedColumn, sealedReplies } from "@muster/service";
import { sealedAt } from "./webhooks.ts";

/** Purposes under which the kinds of secrets are sealed. */
export const secretPurposes = { webhooks: "webhook", replies: sealedReplies.purpose } as const;

const ofWebhook = (column: string, location: (id: string) => string): SealedColumn => ({
  table: "webhooks",
  key: [["id", "uuid"]],
  column,
  purpose: secretPurposes.webhooks,
  location: ([id = ""]) => location(id),
});

/**
 * Every column of the dispatcher that `secretBox` seals; a column that is missing here would need its old key for ever.
 */
export const sealedColumns: readonly SealedColumn[] = [
  ofWebhook("url_sealed", sealedAt.url),
  ofWebhook("secret_sealed", sealedAt.secret),
  ofWebhook("previous_secret_sealed", sealedAt.secret),
  ofWebhook("headers_sealed", sealedAt.headers),
  ofWebhook("signing_key_sealed", sealedAt.signingKey),
  ofWebhook("previous_signing_key_sealed", sealedAt.signingKey),
  sealedReplies,
];
