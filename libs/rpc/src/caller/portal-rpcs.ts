import type { Caller, PortalCapability } from "@muster/kit";

const webhook = (service: string, ...methods: string[]) => methods.map((m) => `muster.webhook.v1.${service}/${m}`);

/** RPCs that a portal session opens, by the capability that it must have; the first ones are open to each. */
const portalRpcs: Readonly<Record<"view" | PortalCapability, readonly string[]>> = {
  view: [
    ...webhook("WebhookService", "ListWebhooks", "GetWebhook"),
    ...webhook("DeliveryService", "ListDeliveries", "GetDelivery", "CountDeliveries", "ListDeadLetters"),
    ...webhook("ReplayService", "GetReplay", "ListReplays"),
    ...webhook("EventTypeService", "ListEventTypes"),
  ],
  manage_webhooks: webhook("WebhookService", "CreateWebhook", "UpdateWebhook", "DeleteWebhook"),
  rotate_secrets: webhook("WebhookService", "RotateWebhookSecret", "RotateWebhookSigningKey"),
  reveal_secrets: webhook("WebhookService", "RevealWebhookSecret"),
  resend_deliveries: [
    ...webhook("DeliveryService", "TestWebhook", "RetryDelivery", "ResendDelivery", "RequeueDeadLetter"),
    ...webhook("ReplayService", "CountReplay", "StartReplay", "CancelReplay"),
  ],
};

/** Whether a caller's portal session opens an RPC; true for every other caller. */
export function portalOpens({ portal }: Caller, rpc: string): boolean {
  if (portal === undefined) return true;
  return (["view", ...portal.capabilities] as const).some((capability) => portalRpcs[capability].includes(rpc));
}
