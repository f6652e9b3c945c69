import { Shapes } from "lucide-react";
import { useGet } from "../../api/queries.ts";
import { eventTypeOperations } from "../../operations/event-types.tsx";
import { newEventType } from "../../operations/new-event-type.tsx";
import { OperationButton, RowOperations } from "../../operations/operation-buttons.tsx";
import type { EventType } from "../../parts/event-type-fields.tsx";
import { Section } from "../../parts/facts.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { EmptyState, FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useFilters } from "../../parts/use-filters.ts";

/** The events that webhooks can subscribe to: an organization's own, and those of Muster. */
export function EventTypesPage() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const why = useWhyNot("GET /api/v1/webhooks/event-types");
  const chosenOrgId = me.orgId ?? orgId;
  const create = <OperationButton of={{ orgId }} operation={newEventType} />;
  return (
    <>
      <PageTitle title="Event types" sub="What webhooks can subscribe to" actions={create} />
      <Tabs section="webhooks" label="Pages beside Event types" />
      {why === null ? <Types orgId={chosenOrgId} /> : <NotAllowed why={why} />}
    </>
  );
}

function Types({ orgId }: { orgId: string | undefined }) {
  const query = { source: "custom", orgId: orgId ?? "" };
  const own = useGet("/api/v1/webhooks/event-types", { params: { query } }, { enabled: orgId !== undefined });
  const ours = useGet("/api/v1/webhooks/event-types");
  return (
    <>
      <Section title="Own event types">
        {own.error ? <FailureState failure={own.error.failure} onRetry={() => void own.refetch()} /> : null}
        {orgId === undefined ? (
          <p className="soft">Choose an organization at the top of the page to see its own.</p>
        ) : null}
        {orgId !== undefined && own.isPending ? <Loading what="Loading its event types" /> : null}
        {own.data?.data.length === 0 ? (
          <EmptyState title="No own event type yet." icon={Shapes}>
            <p>Your programs post events of it, and Muster delivers them to the webhooks that name it.</p>
          </EmptyState>
        ) : null}
        {own.data && own.data.data.length > 0 ? <OwnTypes of={own.data.data} /> : null}
      </Section>
      <Section title="Event types of Muster">
        {ours.error ? <FailureState failure={ours.error.failure} onRetry={() => void ours.refetch()} /> : null}
        {ours.isPending ? <Loading what="Loading event types" /> : null}
        {ours.data ? (
          <PlainTable columns={["Type", "Meaning"]}>
            {ours.data.data.map(({ type, description }) => (
              <tr key={type}>
                <th scope="row">
                  <code>{type}</code>
                </th>
                <td className="soft">{description}</td>
              </tr>
            ))}
          </PlainTable>
        ) : null}
      </Section>
    </>
  );
}

const OwnTypes = ({ of }: { of: readonly EventType[] }) => (
  <PlainTable columns={["Type", "Meaning", "Version", "Data", "State"]} hasActions>
    {of.map((type) => (
      <tr key={type.type}>
        <th scope="row">
          <code>{type.type}</code>
        </th>
        <td className="soft">{type.description}</td>
        <td>{type.version}</td>
        <td>{type.schema === null ? "any object" : "has a schema"}</td>
        <td>
          <Status of={type.archived ? "archived" : "active"} />
        </td>
        <td>
          <RowOperations of={type} operations={eventTypeOperations} name={type.type} />
        </td>
      </tr>
    ))}
  </PlainTable>
);
