import type { ItemOf } from "@muster/client";
import { Pencil, Plus, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { to } from "../parts/links.ts";
import type { Chosen } from "./chosen.tsx";
import type { Operation } from "./record-operation.ts";

type Template = ItemOf<"/api/v1/agent-versions/rollout-templates">;

const forgets = ["/api/v1/agent-versions/rollout-templates"] as const;

/** What can be done with a template of rollouts. */
export const templateOperations: readonly Operation<Template>[] = [
  {
    id: "rollout-template.change",
    verb: "Change",
    needs: "PUT /api/v1/agent-versions/rollout-templates/{id}",
    icon: Pencil,
    leads: ({ id }) => to("/releases/new-rollout", { templateId: id }),
    forgets,
  },
  {
    id: "rollout-template.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/agent-versions/rollout-templates/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: () => "Rollouts that were started from it stay as they are.",
    },
    run: async ({ id }) =>
      void (await dataOf(api.DELETE("/api/v1/agent-versions/rollout-templates/{id}", { params: { path: { id } } }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
  },
];

export const newTemplate: Operation<Chosen> = {
  id: "rollout-template.make",
  verb: "New template",
  needs: "POST /api/v1/agent-versions/rollout-templates",
  icon: Plus,
  shown: "primary",
  leads: () => to("/releases/new-rollout"),
  forgets,
};
