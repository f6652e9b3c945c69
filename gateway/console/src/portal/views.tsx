import { useState } from "react";
import { DeliveryView } from "./delivery-view.tsx";
import { EventTypeView } from "./event-types.tsx";
import { ListView } from "./list-view.tsx";
import type { PortalLink } from "./opening.ts";
import type { View, ViewProps } from "./view-parts.tsx";
import { WebhookView } from "./webhook-view.tsx";

/** The views of an open portal; which one is shown is in memory alone, as the session is. */
export function Views({ link }: { link: PortalLink }) {
  const [view, go] = useState<View>({ at: "list" });
  const props: ViewProps = { may: (capability) => link.capabilities.includes(capability), go };
  switch (view.at) {
    case "list":
      return <ListView {...props} />;
    case "webhook":
      return <WebhookView key={view.id} {...props} id={view.id} />;
    case "delivery":
      return <DeliveryView key={view.deliveryId} {...props} id={view.id} deliveryId={view.deliveryId} />;
    case "event type":
      return <EventTypeView type={view.type} go={go} />;
    default:
      return view satisfies never;
  }
}
