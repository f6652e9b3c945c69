import type { ItemOf } from "@muster/client";
import { CircleX } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import type { Operation } from "./record-operation.ts";

/** A replay with the webhook that it belongs to. */
export type Replay = ItemOf<"/api/v1/webhooks/{id}/replays"> & { webhookId: string };

/** What can be done with a replay. */
export const replayOperations: readonly Operation<Replay>[] = [
  {
    id: "replay.cancel",
    verb: "Cancel it",
    needs: "DELETE /api/v1/webhooks/{id}/replays/{replayId}",
    icon: CircleX,
    tone: "danger",
    isOffered: ({ status }) => status === "queued" || status === "running",
    asks: {
      title: () => "Cancel the replay?",
      says: () => "Nothing more is queued, and pending deliveries are dropped. Requests that were sent are completed.",
    },
    run: async ({ id: replayId, webhookId: id }) => {
      const params = { path: { id, replayId } };
      await dataOf(api.DELETE("/api/v1/webhooks/{id}/replays/{replayId}", { params }));
      return undefined;
    },
    done: () => "The replay is cancelled.",
    forgets: ["/api/v1/webhooks"],
  },
];
