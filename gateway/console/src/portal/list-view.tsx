import { useState } from "react";
import { useList } from "../api/queries.ts";
import { MoreRows } from "../parts/more-rows.tsx";
import { PlainTable } from "../parts/plain-table.tsx";
import { EmptyState, ListState } from "../parts/states.tsx";
import { Status } from "../parts/status.tsx";
import { AllDeadLetters } from "./dead-letters.tsx";
import { EventTypes } from "./event-types.tsx";
import { NewWebhookForm } from "./new-webhook-form.tsx";
import { SecretShown } from "./secret-shown.tsx";
import { At, Head, type ViewProps } from "./view-parts.tsx";

/** The organization's webhooks, what they could not deliver, and the events that they can receive. */
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
        <PlainTable columns={["Name", "Address", "Status", "Health", "Last delivery"]}>
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
                <Status of={row.health.status} />
              </td>
              <td>
                <At time={row.lastDeliveryAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={list}>More webhooks</MoreRows>
      <AllDeadLetters may={may} go={go} nameOf={(id) => list.rows.find((each) => each.id === id)?.name ?? id} />
      <EventTypes go={go} />
      {isMaking ? <NewWebhookForm onClose={() => setMaking(false)} onMade={setSecret} /> : null}
      {secret === null ? null : (
        <SecretShown title="The webhook is active" secret={secret} onClose={() => setSecret(null)} />
      )}
    </>
  );
}
