import type { ItemOf } from "@muster/client";
import { useGet, useList } from "../../api/queries.ts";
import { replayedDeliveries } from "../../operations/new-replay.tsx";
import { LineOperations, OperationButton } from "../../operations/operation-buttons.tsx";
import { replayOperations } from "../../operations/replays.tsx";
import { replay } from "../../operations/webhooks.tsx";
import { Section } from "../../parts/facts.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { ListState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";

type Replay = ItemOf<"/api/v1/webhooks/{id}/replays">;
type Webhook = ItemOf<"/api/v1/webhooks">;

/** What was sent before is sent again, in the background; how far each replay is. */
export function Replays({ of: webhook }: { of: Webhook }) {
  const { id } = webhook;
  const list = useList("/api/v1/webhooks/{id}/replays", { params: { path: { id } } }, { everyMs: 5_000 });
  return (
    <Section title="Replays" action={<OperationButton of={webhook} operation={replay} />}>
      <ListState list={list} what="Loading replays">
        <p className="soft">Nothing has been replayed. After an outage a replay sends again what failed.</p>
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["From", "Until", "Deliveries", "State", "Queued", "Skipped", "Outcome"]} hasActions>
          {list.rows.map((each) => (
            <tr key={each.id}>
              <td>
                <Instant at={each.since} />
              </td>
              <td>
                <Instant at={each.until} />
              </td>
              <td>{replayedDeliveries[each.deliveryStatus]}</td>
              <td>
                <Status of={each.status} />
              </td>
              <td>{each.queued.toLocaleString()}</td>
              <td>{each.skipped.toLocaleString()}</td>
              <td>
                <Outcomes id={id} replay={each} />
              </td>
              <td>
                <LineOperations of={{ ...each, webhookId: id }} operations={replayOperations} name="the replay" />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}

function Outcomes({ id, replay }: { id: string; replay: Replay }) {
  const path = { id, replayId: replay.id };
  const { data } = useGet(
    "/api/v1/webhooks/{id}/replays/{replayId}",
    { params: { path } },
    replay.status === "running" ? { everyMs: 5_000 } : {},
  );
  if (!data) return null;
  const { delivered, failed, pending, retrying } = data.outcomes;
  return `${delivered.toLocaleString()} delivered, ${failed.toLocaleString()} failed, ${(pending + retrying).toLocaleString()} wait`;
}
