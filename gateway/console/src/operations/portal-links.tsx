import type { ItemOf } from "@muster/client";
import { CircleOff } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { isUsable } from "../rules/portal-link-state.ts";
import type { Operation } from "./record-operation.ts";

type PortalLink = ItemOf<"/api/v1/webhooks/portal-links">;

/** What can be done with a link to the webhook portal. */
export const portalLinkOperations: readonly Operation<PortalLink>[] = [
  {
    id: "portal-link.revoke",
    verb: "Revoke",
    needs: "DELETE /api/v1/webhooks/portal-links/{id}",
    icon: CircleOff,
    tone: "danger",
    isOffered: (link) => isUsable(link, new Date()),
    asks: {
      title: ({ name }) => `Revoke the link of ${name}?`,
      says: ({ openedAt }) =>
        openedAt === null ? "Nobody can open it any more." : "Its session ends at once; what it changed stays.",
    },
    run: async ({ id }) => {
      await dataOf(api.DELETE("/api/v1/webhooks/portal-links/{id}", { params: { path: { id } } }));
      return undefined;
    },
    done: ({ name }) => `The link of ${name} is revoked.`,
    forgets: ["/api/v1/webhooks/portal-links"],
  },
];
