import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet, useList } from "../../api/queries.ts";
import { LineOperations } from "../../operations/operation-buttons.tsx";
import { replayOperations } from "../../operations/replays.tsx";
import { Section } from "../../parts/facts.tsx";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { Operation } from "../../parts/operation.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { ListState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";

type Replay = ItemOf<"/api/v1/webhooks/{id}/replays">;
const which = {
  failed: "that failed",
  delivered: "that were delivered",
  all: "of both kinds",
  missing: "of events without one",
} as const;

/** What was sent before is sent again, in the background; how far each replay is. */
export function Replays({ id, onDone }: { id: string; onDone(sentence: string): void }) {
  const list = useList("/api/v1/webhooks/{id}/replays", { params: { path: { id } } }, { everyMs: 5_000 });
  const [isStarting, start] = useState(false);
  return (
    <Section
      title="Replays"
      action={
        <Operation name="POST /api/v1/webhooks/{id}/replay" onClick={() => start(true)}>
          Replay …
        </Operation>
      }
    >
      <ListState list={list} what="Loading replays">
        <p className="soft">Nothing has been replayed. After an outage a replay sends again what failed.</p>
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["From", "Until", "Deliveries", "State", "Queued", "Skipped", "Outcome"]} hasActions>
          {list.rows.map((replay) => (
            <tr key={replay.id}>
              <td>
                <Instant at={replay.since} />
              </td>
              <td>
                <Instant at={replay.until} />
              </td>
              <td>{which[replay.deliveryStatus]}</td>
              <td>
                <Status of={replay.status} />
              </td>
              <td>{replay.queued.toLocaleString()}</td>
              <td>{replay.skipped.toLocaleString()}</td>
              <td>
                <Outcomes id={id} replay={replay} />
              </td>
              <td>
                <LineOperations of={{ ...replay, webhookId: id }} operations={replayOperations} name="the replay" />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      {isStarting ? <NewReplay id={id} onClose={() => start(false)} onDone={onDone} /> : null}
    </Section>
  );
}

function NewReplay({ id, onClose, onDone }: { id: string; onClose(): void; onDone(sentence: string): void }) {
  const forget = useForget();
  return (
    <FormDialog
      title="Replay deliveries"
      verb="Replay"
      running="Queueing …"
      onClose={onClose}
      send={async (form) => {
        const body = {
          since: new Date(String(form.get("since"))).toISOString(),
          deliveryStatus: String(form.get("deliveryStatus")) as keyof typeof which,
        };
        await dataOf(api.POST("/api/v1/webhooks/{id}/replay", { params: { path: { id } }, body }));
        onDone("The replay is queued.");
        await forget("/api/v1/webhooks");
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            Runs in the background, a few at a time, without delaying live deliveries. Each event is sent once, with its
            own id.
          </p>
          <Field label="Since" hint="In this browser's time." errors={errorsOf("since")}>
            <input name="since" type="datetime-local" required />
          </Field>
          <Field label="Deliveries" errors={errorsOf("deliveryStatus")}>
            <select name="deliveryStatus">
              {Object.entries(which).map(([value, words]) => (
                <option key={value} value={value}>
                  {words}
                </option>
              ))}
            </select>
          </Field>
        </>
      )}
    </FormDialog>
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
