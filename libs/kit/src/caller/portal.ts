/** What a portal link allows besides seeing webhooks, deliveries and event types (docs/webhooks/portal.md). */
export const portalCapabilities = ["manage_webhooks", "rotate_secrets", "reveal_secrets", "resend_deliveries"] as const;

export type PortalCapability = (typeof portalCapabilities)[number];

/** Capabilities that change nothing. */
const reading: readonly PortalCapability[] = ["reveal_secrets"];

/** The user or API key that created a portal link. */
export type PortalAuthor = { type: "user" | "api_key"; id: string; name: string | null };

/** A session that a portal link began. */
export type PortalSession = { linkId: string; capabilities: readonly PortalCapability[]; author: PortalAuthor };

export const isPortalCapability = (text: string): text is PortalCapability =>
  portalCapabilities.some((each) => each === text);

/** Whether a link with these capabilities changes nothing. */
export const isReadOnly = (capabilities: readonly PortalCapability[]): boolean =>
  capabilities.every((capability) => reading.includes(capability));
