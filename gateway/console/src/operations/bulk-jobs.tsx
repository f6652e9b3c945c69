import { CircleX } from "lucide-react";
import { api } from "../api/api.ts";
import { type BodyOf, dataOf } from "../api/queries.ts";
import type { Operation } from "./record-operation.ts";

type Job = BodyOf<"/api/v1/devices/bulk-jobs/{id}">;

/** What can be done with a job that changes many devices. */
export const bulkJobOperations: readonly Operation<Job>[] = [
  {
    id: "bulk-job.cancel",
    verb: "Cancel it",
    needs: "DELETE /api/v1/devices/bulk-jobs/{id}",
    icon: CircleX,
    tone: "danger",
    shown: "button",
    isOffered: ({ status }) => status === "queued" || status === "running",
    asks: {
      title: () => "Cancel the job?",
      says: ({ total, done, failed }) =>
        `No further device is changed: about ${(total - done - failed).toLocaleString()} are left. Those that were changed stay so.`,
    },
    run: async ({ id }) =>
      void (await dataOf(api.DELETE("/api/v1/devices/bulk-jobs/{id}", { params: { path: { id } } }))),
    done: () => "The job is cancelled.",
    forgets: ["/api/v1/devices/bulk-jobs/{id}"],
  },
];
