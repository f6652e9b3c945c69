import type { ItemOf } from "@muster/client";
import { Link } from "@tanstack/react-router";
import { anywhere } from "../../operations/chosen.tsx";
import { actionsColumn, OperationButton } from "../../operations/operation-buttons.tsx";
import { newTemplate, templateOperations } from "../../operations/rollout-templates.tsx";
import type { Column } from "../../parts/column.ts";
import { to } from "../../parts/links.ts";
import { ListPage } from "../../parts/list-page.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

type Template = ItemOf<"/api/v1/agent-versions/rollout-templates">;

/** Waves and limits that are used again. */
export function Templates() {
  const create = <OperationButton of={anywhere} operation={newTemplate} />;
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
  actionsColumn(templateOperations, (template) => template.name),
];
