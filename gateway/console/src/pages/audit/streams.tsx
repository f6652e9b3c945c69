import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { Field } from "../../parts/field.tsx";
import { ChooseFirst, FormDialog } from "../../parts/form-dialog.tsx";
import { ListPage } from "../../parts/list-page.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { RowAction } from "../../parts/row-action.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";
import { EmptyState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import type { Column } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-filters.ts";

type Stream = ItemOf<"/api/v1/audit-logs/streams">;
type Asking = { kind: "new" } | { kind: "pause" | "resume" | "end"; stream: Stream } | null;

/** Where an organization's audit rows go as they are sealed, and how far behind each is. */
export function Streams() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const why = useWhyNot("PATCH /api/v1/audit-logs/streams/{id}");
  const forget = useForget();
  const [asking, ask] = useState<Asking>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const close = () => ask(null);
  const create = (
    <Operation name="POST /api/v1/audit-logs/streams" isPrimary onClick={() => ask({ kind: "new" })}>
      New stream
    </Operation>
  );
  return (
    <>
      <ListPage
        title="Streams"
        section="streams"
        path="/api/v1/audit-logs/streams"
        filters={["orgId"]}
        everyMs={10_000}
        actions={create}
        columns={columns({ why, ask })}
        empty={
          <EmptyState title="No stream yet.">
            <p>A stream forwards each audit row as it is sealed: to your SIEM over HTTPS, or to storage.</p>
            {create}
          </EmptyState>
        }
      />
      <StreamQuestions
        asking={asking}
        close={close}
        chosenOrgId={chosenOrgId}
        forget={forget}
        secret={secret}
        setSecret={setSecret}
      />
    </>
  );
}

function columns({ why, ask }: { why: string | null; ask(what: Asking): void }): Column<Stream>[] {
  return [
    { id: "name", title: "Name", cell: ({ name }) => name },
    { id: "status", title: "Status", width: "8rem", cell: ({ status }) => <Status of={status} /> },
    {
      id: "to",
      title: "To",
      isMinor: true,
      cell: ({ type, url }) => (type === "archive" ? "the operator's storage" : url),
    },
    {
      id: "lag",
      title: "Lag",
      width: "11rem",
      cell: ({ lagRows }) => (lagRows === 0 ? "none" : `${lagRows.toLocaleString()} rows`),
    },
    {
      id: "sent",
      title: "Sent",
      width: "7rem",
      isMinor: true,
      cell: ({ rowsSent }) => rowsSent.toLocaleString(),
    },
    {
      id: "good",
      title: "Last success",
      width: "9rem",
      isMinor: true,
      cell: ({ lastSuccessAt }) => <Time at={lastSuccessAt} />,
    },
    { id: "error", title: "Last error", isMinor: true, cell: ({ lastError }) => lastError },
    {
      id: "actions",
      title: "Actions",
      width: "10rem",
      cell: (stream) =>
        why === null ? (
          <>
            <RowAction
              of={stream.name}
              onClick={() => ask({ kind: stream.status === "active" ? "pause" : "resume", stream })}
            >
              {stream.status === "active" ? "Pause" : "Resume"}
            </RowAction>{" "}
            <RowAction of={stream.name} onClick={() => ask({ kind: "end", stream })}>
              End
            </RowAction>
          </>
        ) : null,
    },
  ];
}

function StreamQuestions({
  asking,
  close,
  chosenOrgId,
  forget,
  secret,
  setSecret,
}: {
  asking: Asking;
  close(): void;
  chosenOrgId: string | undefined;
  forget: ReturnType<typeof useForget>;
  secret: string | null;
  setSecret(secret: string | null): void;
}) {
  return (
    <>
      {asking?.kind === "new" ? (
        chosenOrgId ? (
          <NewStream orgId={chosenOrgId} onClose={close} onMade={setSecret} />
        ) : (
          <ChooseFirst title="New stream" what="A stream" onClose={close} />
        )
      ) : null}
      {asking?.kind === "pause" || asking?.kind === "resume" ? (
        <Confirm
          title={`${asking.kind === "pause" ? "Pause" : "Resume"} ${asking.stream.name}?`}
          verb={asking.kind === "pause" ? "Pause" : "Resume"}
          onClose={close}
          action={async () => {
            const params = { path: { id: asking.stream.id } };
            const status = asking.kind === "pause" ? "paused" : "active";
            await dataOf(api.PATCH("/api/v1/audit-logs/streams/{id}", { params, body: { status } }));
            await forget("/api/v1/audit-logs/streams");
          }}
        >
          <p>It continues at its position: no row is skipped, as long as it is retained.</p>
        </Confirm>
      ) : null}
      {asking?.kind === "end" ? (
        <Confirm
          title={`End ${asking.stream.name}?`}
          verb="End"
          typed={asking.stream.name}
          onClose={close}
          action={async () => {
            const params = { path: { id: asking.stream.id } };
            await dataOf(api.DELETE("/api/v1/audit-logs/streams/{id}", { params }));
            await forget("/api/v1/audit-logs/streams");
          }}
        >
          <p>{asking.stream.lagRows.toLocaleString()} rows have not been sent; a new stream can begin at the first.</p>
        </Confirm>
      ) : null}
      {secret === null ? null : (
        <SecretOnce
          title="The stream is active"
          secret={secret}
          note="This secret signs each row. Your receiver verifies it; it is shown only once."
          onClose={() => setSecret(null)}
        />
      )}
    </>
  );
}

function NewStream({ orgId, onClose, onMade }: { orgId: string; onClose(): void; onMade(secret: string): void }) {
  const [type, setType] = useState<"webhook" | "archive">("webhook");
  const forget = useForget();
  return (
    <FormDialog
      title="New stream"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      send={async (form) => {
        const body = {
          orgId,
          name: String(form.get("name")),
          type,
          from: form.has("fromStart") ? ("start" as const) : ("now" as const),
          ...(type === "webhook" ? { url: String(form.get("url")) } : {}),
        };
        const made = await dataOf(api.POST("/api/v1/audit-logs/streams", { body }));
        await forget("/api/v1/audit-logs/streams");
        return made.secret ?? null;
      }}
      onSent={(secret) => secret && onMade(secret)}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} autoComplete="off" />
          </Field>
          <Field label="To" errors={errorsOf("type")}>
            <select value={type} onChange={(event) => setType(event.target.value as typeof type)}>
              <option value="webhook">an address, over HTTPS</option>
              <option value="archive">the operator's storage</option>
            </select>
          </Field>
          {type === "webhook" ? (
            <Field label="Address" hint="HTTPS, to a public host." errors={errorsOf("url")}>
              <input name="url" type="url" required maxLength={4096} placeholder="https://siem.example.com/rows" />
            </Field>
          ) : null}
          <label>
            <input type="checkbox" name="fromStart" /> Begin with the first retained row instead of the next one
          </label>
        </>
      )}
    </FormDialog>
  );
}
