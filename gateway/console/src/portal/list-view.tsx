import { useState } from "react";
import { useGet, useList } from "../api/queries.ts";
import { Section } from "../parts/facts.tsx";
import { MoreRows } from "../parts/more-rows.tsx";
import { PlainTable } from "../parts/plain-table.tsx";
import { EmptyState, ListState } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { NewWebhookForm } from "./new-webhook-form.tsx";
import { SecretShown } from "./secret-shown.tsx";
import { At, Head, type ViewProps } from "./view-parts.tsx";

/** The organization's webhooks, and the events that they can receive. */
export function ListView({ may, go }: ViewProps) {
  const list = useList("/api/v1/webhooks", {}, { everyMs: 5_000 });
  const [isMaking, setMaking] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  return (
    <>
      <Head title="Webhooks">
        {may("manage_webhooks") ? (
          <button type="button" data-weight="primary" onClick={() => setMaking(true)}>
            New webhook
          </button>
        ) : null}
      </Head>
      <ListState list={list} what="Loading webhooks">
        <EmptyState title="There is no webhook yet." />
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Name", "Address", "Status", "Last delivery"]}>
          {list.rows.map((row) => (
            <tr key={row.id}>
              <td>
                <button type="button" onClick={() => go({ at: "webhook", id: row.id })}>
                  {row.name}
                </button>
              </td>
              <td>{row.url}</td>
              <td>
                <Status of={row.status} />
              </td>
              <td>
                <At time={row.lastDeliveryAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={list}>More webhooks</MoreRows>
      <EventTypes />
      {isMaking ? <NewWebhookForm onClose={() => setMaking(false)} onMade={setSecret} /> : null}
      {secret === null ? null : (
        <SecretShown title="The webhook is active" secret={secret} onClose={() => setSecret(null)} />
      )}
    </>
  );
}

function EventTypes() {
  const types = useGet("/api/v1/webhooks/event-types");
  return (
    <Section title="Event types">
      <PlainTable columns={["Type", "When it is sent"]}>
        {(types.data?.data ?? []).map(({ type, description }) => (
          <tr key={type}>
            <td>
              <code>{type}</code>
            </td>
            <td>{description}</td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}
