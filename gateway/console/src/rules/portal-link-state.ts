import type { ItemOf } from "@muster/client";

type Link = Pick<ItemOf<"/api/v1/webhooks/portal-links">, "revokedAt" | "expiresAt" | "openedAt">;
type Capability = ItemOf<"/api/v1/webhooks/portal-links">["capabilities"][number];

/** Whether a link, or the session that it opened, can still be used. */
export const isUsable = ({ revokedAt, expiresAt }: Pick<Link, "revokedAt" | "expiresAt">, now: Date): boolean =>
  revokedAt === null && new Date(expiresAt) > now;

/** The state of a link, as a word. */
export function stateOf(link: Link, now: Date): "revoked" | "expired" | "open" | "not opened" {
  if (link.revokedAt !== null) return "revoked";
  if (!isUsable(link, now)) return "expired";
  return link.openedAt === null ? "not opened" : "open";
}

/** What a session may do besides seeing webhooks and deliveries, in words. */
export const capabilityWords: Readonly<Record<Capability, string>> = {
  manage_webhooks: "make, change and delete webhooks",
  rotate_secrets: "rotate secrets",
  reveal_secrets: "see secrets",
  resend_deliveries: "send deliveries again",
};

/** The addresses of a text, one per line or with commas between them. */
export const originsIn = (text: string): string[] => text.split(/[\s,]+/).filter((origin) => origin !== "");
