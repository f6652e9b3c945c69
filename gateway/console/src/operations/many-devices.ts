import type { components } from "@muster/client";
import { CircleCheck, CircleX, type LucideIcon, Merge, Pause, Play, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";

type Job = components["schemas"]["DeviceBulkJob"];

/** What is done with each of many devices. */
export type Wanted = { action: Job["action"]; change?: NonNullable<Job["change"]> };

/**
 * What can be done with many devices, once: the bar of selected rows sends it for their ids, and starts a job of it for
 * all that match.
 */
export type ManyOperation = {
  id: string;
  verb: string;
  needs: string;
  icon: LucideIcon;
  /** Concerns devices alone that wait for a decision. */
  isReview?: true;
  /** The word to type before what cannot be undone. */
  typed?: string;
  says: string;
  wanted: Wanted;
};

const change = "POST /api/v1/devices/bulk-update";
const remove = "DELETE /api/v1/devices/{id}";

export const manyDeviceOperations: readonly ManyOperation[] = [
  {
    id: "devices.approve",
    verb: "Approve",
    needs: "POST /api/v1/devices/bulk-review",
    icon: CircleCheck,
    isReview: true,
    says: "Their agents are accepted from now on. The devices with the same hardware ids stay, too.",
    wanted: { action: "approve" },
  },
  {
    id: "devices.merge",
    verb: "Approve and merge",
    needs: remove,
    icon: Merge,
    isReview: true,
    says: "Each takes over site, groups, labels and name of the device with its hardware id, which is decommissioned.",
    wanted: { action: "merge" },
  },
  {
    id: "devices.reject",
    verb: "Reject",
    needs: remove,
    icon: CircleX,
    isReview: true,
    typed: "reject",
    says: "They are decommissioned: the tokens of their agents are refused at once and permanently.",
    wanted: { action: "reject" },
  },
  {
    id: "devices.updates-on",
    verb: "Updates on",
    needs: change,
    icon: Play,
    says: "Their agents are offered new versions again.",
    wanted: { action: "update", change: { autoUpdateEnabled: true } },
  },
  {
    id: "devices.updates-off",
    verb: "Updates off",
    needs: change,
    icon: Pause,
    says: "Their agents keep the version that they have.",
    wanted: { action: "update", change: { autoUpdateEnabled: false } },
  },
  {
    id: "devices.decommission",
    verb: "Decommission",
    needs: remove,
    icon: Trash2,
    typed: "decommission",
    says: "The tokens of their agents are refused at once and permanently; records, logs and audit rows stay. They no longer count against any limit.",
    wanted: { action: "decommission" },
  },
];

/** Does it with these devices, as many as one call takes; answers what came of each. */
export function doWithDevices({ action, change = {} }: Wanted, deviceIds: string[]) {
  switch (action) {
    case "update":
      return dataOf(api.POST("/api/v1/devices/bulk-update", { body: { deviceIds, change } }));
    case "decommission":
      return dataOf(api.POST("/api/v1/devices/bulk-decommission", { body: { deviceIds } }));
    default:
      return dataOf(api.POST("/api/v1/devices/bulk-review", { body: { deviceIds, action } }));
  }
}
