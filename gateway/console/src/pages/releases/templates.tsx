import type { ItemOf } from "@muster/client";
import { Link, useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { api } from "../../api/api.ts";
import { dataOf } from "../../api/queries.ts";
import { RowOperations } from "../../operations/operation-buttons.tsx";
import type { Operation as RecordOperation } from "../../operations/record-operation.ts";
import { to } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { Operation } from "../../parts/operation.tsx";
import { EmptyState } from "../../parts/states.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

type Template = ItemOf<"/api/v1/agent-versions/rollout-templates">;

const operations: readonly RecordOperation<Template>[] = [
  {
    id: "rollout-template.delete",
    verb: () => "Delete",
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
    forgets: ["/api/v1/agent-versions/rollout-templates"],
  },
];

/** Waves and limits that are used again. */
export function Templates() {
  const navigate = useNavigate();
  const create = (
    <Operation
      name="POST /api/v1/agent-versions/rollout-templates"
      isPrimary
      onClick={() => void navigate(to("/releases/new-rollout"))}
    >
      New template
    </Operation>
  );
  return (
    <ListPage
      title="Templates"
      section="releases"
      path="/api/v1/agent-versions/rollout-templates"
      filters={[]}
      actions={create}
      columns={columns}
      empty={
        <EmptyState title="No template yet.">
          <p>A template keeps the waves and limits of a rollout for the next one.</p>
          {create}
        </EmptyState>
      }
    />
  );
}

const columns: Column<Template>[] = [
  {
    id: "name",
    title: "Name",
    cell: ({ id, name }) => <Link {...to("/releases/new-rollout", { templateId: id })}>{name}</Link>,
  },
  { id: "waves", title: "Waves", cell: ({ rings }) => rings.map(({ name }) => name).join(" → ") || "everybody" },
  { id: "changed", title: "Changed", width: "9rem", isMinor: true, cell: ({ updatedAt }) => <Time at={updatedAt} /> },
  {
    id: "actions",
    title: "Actions",
    width: "5rem",
    isEnd: true,
    as: "end",
    cell: (template) => <RowOperations of={template} operations={operations} name={template.name} />,
  },
];
