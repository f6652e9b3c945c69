import type { ItemOf } from "@muster/client";
import { Laptop, PackageCheck, PackageX, Rocket, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { to } from "../parts/links.ts";
import type { Operation } from "./record-operation.ts";

type Release = ItemOf<"/api/v1/agent-versions">;

const of = ({ id }: Release) => ({ path: { id } });
const nameOf = ({ component, version }: Release) => `${component} ${version}`;
const isOffered = ({ promoted, yankedAt }: Release) => !promoted && yankedAt === null;
const forgets = ["/api/v1/agent-versions"] as const;

/** What can be done with a registered version. */
export const releaseOperations: readonly Operation<Release>[] = [
  {
    id: "release.roll-out",
    verb: "Roll out",
    needs: "POST /api/v1/agent-versions/rollouts",
    icon: Rocket,
    isOffered,
    leads: ({ component, version }) => to("/releases/new-rollout", { component, version }),
    forgets,
  },
  {
    id: "release.promote",
    verb: "Promote",
    needs: "POST /api/v1/agent-versions/promote",
    icon: PackageCheck,
    isOffered,
    asks: {
      title: (release) => `Promote ${nameOf(release)}?`,
      says: () =>
        "It becomes the target of every device that no pin and no rollout gives another version. Its guard halts it when updates fail.",
    },
    run: async ({ component, version }) =>
      void (await dataOf(api.POST("/api/v1/agent-versions/promote", { body: { component, version } }))),
    done: (release) => `${nameOf(release)} is the fleet's target.`,
    forgets,
  },
  {
    id: "release.devices",
    verb: "Show its devices",
    needs: "GET /api/v1/devices",
    icon: Laptop,
    isOffered: ({ component }) => component === "agent",
    leads: ({ version }) => to("/devices", { agentVersion: version }),
    forgets: [],
  },
  {
    id: "release.yank",
    verb: "Yank",
    needs: "POST /api/v1/agent-versions/{id}/yank",
    icon: PackageX,
    tone: "danger",
    isOffered,
    asks: {
      title: (release) => `Yank ${nameOf(release)}?`,
      says: () => "It is offered to no device any more, permanently. Devices that run it keep it.",
      typed: ({ version }) => version,
    },
    run: async (release) => void (await dataOf(api.POST("/api/v1/agent-versions/{id}/yank", { params: of(release) }))),
    done: (release) => `${nameOf(release)} is yanked.`,
    forgets,
  },
  {
    id: "release.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/agent-versions/{id}",
    icon: Trash2,
    tone: "danger",
    isOffered: ({ promoted }) => !promoted,
    asks: {
      title: (release) => `Delete ${nameOf(release)}?`,
      says: () => "The version and its files are deleted. It is refused while a pin, a rollout or a device needs it.",
      typed: ({ version }) => version,
    },
    run: async (release) => void (await dataOf(api.DELETE("/api/v1/agent-versions/{id}", { params: of(release) }))),
    done: (release) => `${nameOf(release)} is deleted.`,
    forgets,
  },
];
