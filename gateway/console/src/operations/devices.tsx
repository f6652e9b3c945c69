import type { ItemOf } from "@muster/client";
import {
  CircleCheck,
  CircleX,
  DownloadCloud,
  FolderPlus,
  Merge,
  Pause,
  Pencil,
  Play,
  Replace,
  Trash2,
} from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { AddToGroup } from "./add-to-group.tsx";
import { ChangeDevice } from "./change-device.tsx";
import type { Operation } from "./record-operation.ts";

type Device = ItemOf<"/api/v1/devices">;

const of = ({ id }: Device) => ({ path: { id } });
const isQuarantined = ({ status }: Device) => status === "quarantined";
const isAlive = ({ status }: Device) => status !== "decommissioned";
const forgets = ["/api/v1/devices"] as const;

const approve = (body: { replace?: true; merge?: true }) => async (device: Device) =>
  void (await dataOf(api.POST("/api/v1/devices/{id}/approve", { params: of(device), body })));

/** What can be done with a device. */
export const deviceOperations: readonly Operation<Device>[] = [
  {
    id: "device.approve",
    verb: "Approve",
    needs: "POST /api/v1/devices/{id}/approve",
    icon: CircleCheck,
    shown: "primary",
    isOffered: isQuarantined,
    isNext: isQuarantined,
    asks: {
      title: () => "Trust this device?",
      says: () => "Its agent is accepted from now on. The device with the same hardware id stays, too.",
    },
    run: approve({}),
    done: () => "The device is trusted.",
    forgets,
  },
  {
    id: "device.replace",
    verb: "Approve and replace",
    needs: "DELETE /api/v1/devices/{id}",
    icon: Replace,
    shown: "button",
    isOffered: isQuarantined,
    asks: {
      title: () => "Replace the other device?",
      says: () => "The device with the same hardware id is decommissioned; its agent is refused from then on.",
    },
    run: approve({ replace: true }),
    done: () => "The device is trusted, and the other one is decommissioned.",
    forgets,
  },
  {
    id: "device.merge",
    verb: "Approve and merge",
    needs: "DELETE /api/v1/devices/{id}",
    icon: Merge,
    isOffered: isQuarantined,
    asks: {
      title: () => "Replace the other device?",
      says: () =>
        "It takes over site, groups, labels, update setting and name of the device with the same hardware id, which is decommissioned.",
    },
    run: approve({ merge: true }),
    done: () => "The device is trusted and replaces the other one.",
    forgets,
  },
  {
    id: "device.reject",
    verb: "Reject",
    needs: "POST /api/v1/devices/{id}/reject",
    icon: CircleX,
    tone: "danger",
    isOffered: isQuarantined,
    asks: {
      title: ({ hostname }) => `Reject ${hostname}?`,
      says: () => "It is decommissioned: its agent's token is refused at once and permanently.",
      typed: ({ hostname }) => hostname,
    },
    run: async (device) => void (await dataOf(api.POST("/api/v1/devices/{id}/reject", { params: of(device) }))),
    done: () => "The device is rejected.",
    forgets,
  },
  {
    id: "device.update",
    verb: "Update now",
    needs: "POST /api/v1/devices/{id}/update",
    icon: DownloadCloud,
    isOffered: (device) => isAlive(device) && device.autoUpdateEnabled,
    asks: {
      title: ({ hostname }) => `Update ${hostname} now?`,
      says: () =>
        "Its next heartbeat within 24 hours is offered its target version, whatever update policy and maintenance window are set.",
    },
    run: async (device) => void (await dataOf(api.POST("/api/v1/devices/{id}/update", { params: of(device) }))),
    done: () => "Its next heartbeat is offered its target version.",
    forgets,
  },
  {
    id: "device.updates-off",
    verb: "Hold updates",
    needs: "POST /api/v1/devices/{id}/auto-update",
    icon: Pause,
    isOffered: (device) => isAlive(device) && device.autoUpdateEnabled,
    shown: "button",
    run: async (device) =>
      void (await dataOf(
        api.POST("/api/v1/devices/{id}/auto-update", { params: of(device), body: { enabled: false } }),
      )),
    done: () => "Its agent keeps the version that it has.",
    forgets,
  },
  {
    id: "device.updates-on",
    verb: "Allow updates",
    needs: "POST /api/v1/devices/{id}/auto-update",
    icon: Play,
    isOffered: (device) => isAlive(device) && !device.autoUpdateEnabled,
    shown: "button",
    run: async (device) =>
      void (await dataOf(
        api.POST("/api/v1/devices/{id}/auto-update", { params: of(device), body: { enabled: true } }),
      )),
    done: () => "Its agent is offered new versions again.",
    forgets,
  },
  {
    id: "device.change",
    verb: "Change",
    needs: "PATCH /api/v1/devices/{id}",
    icon: Pencil,
    isOffered: isAlive,
    form: ChangeDevice,
    forgets,
  },
  {
    id: "device.group",
    verb: "Add to a group",
    needs: "POST /api/v1/device-groups/{id}/devices",
    icon: FolderPlus,
    isOffered: isAlive,
    form: AddToGroup,
    forgets: ["/api/v1/devices", "/api/v1/device-groups"],
  },
  {
    id: "device.decommission",
    verb: "Decommission",
    needs: "DELETE /api/v1/devices/{id}",
    icon: Trash2,
    tone: "danger",
    isOffered: isAlive,
    asks: {
      title: ({ hostname }) => `Decommission ${hostname}?`,
      says: () =>
        "Its agent's token is refused at once and permanently; its record, logs and audit rows stay. It no longer counts against any limit.",
      typed: ({ hostname }) => hostname,
    },
    run: async (device) => void (await dataOf(api.DELETE("/api/v1/devices/{id}", { params: of(device) }))),
    done: () => "The device is decommissioned.",
    forgets,
  },
];
