import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { Confirm } from "../../parts/confirm.tsx";
import { asOptions } from "../../parts/filter-bar.tsx";
import { ChooseFirst } from "../../parts/form-dialog.tsx";
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
import { ChangeKey } from "./change-key.tsx";
import { NewKey } from "./new-key.tsx";

type Key = ItemOf<"/api/v1/api-keys">;

type Asking = { kind: "rotate" | "revoke"; id: string; name: string } | null;

/** API keys that are visible to the user. */
export function Keys() {
  const [{ orgId }] = useFilters();
  const me = useMe();
  const chosenOrgId = me.orgId ?? orgId;
  const why = useWhyNot("POST /api/v1/api-keys");
  const forget = useForget();
  const [isMaking, make] = useState(false);
  const [changing, change] = useState<ItemOf<"/api/v1/api-keys"> | null>(null);
  const [asking, ask] = useState<Asking>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const create = (
    <Operation name="POST /api/v1/api-keys" isPrimary onClick={() => make(true)}>
      New API key
    </Operation>
  );
  return (
    <>
      <ListPage
        title="API keys"
        section="keys"
        path="/api/v1/api-keys"
        filters={["orgId", "status", "search", "expiresBefore"]}
        text={{ name: "search", label: "Name, or the key's beginning" }}
        labels={{ expiresBefore: "Ends before" }}
        choices={[
          {
            name: "status",
            label: "Status",
            options: asOptions(["active", "expired", "revoked"]),
          },
        ]}
        actions={create}
        columns={columns({ why, change, ask })}
        empty={
          <EmptyState title="No API key yet.">
            <p>Programs call the API with a key that has the scopes they need.</p>
            {create}
          </EmptyState>
        }
      />
      <KeyQuestions
        isMaking={isMaking}
        make={make}
        chosenOrgId={chosenOrgId}
        changing={changing}
        change={change}
        asking={asking}
        ask={ask}
        forget={forget}
        secret={secret}
        setSecret={setSecret}
      />
    </>
  );
}

function columns({
  why,
  change,
  ask,
}: {
  why: string | null;
  change(key: Key | null): void;
  ask(what: Asking): void;
}): Column<Key>[] {
  return [
    { id: "name", title: "Name", cell: ({ name }) => name },
    { id: "prefix", title: "Begins with", width: "10rem", cell: ({ keyPrefix }) => <code>{keyPrefix}</code> },
    { id: "scopes", title: "Scopes", isMinor: true, cell: ({ scopes }) => scopes.join(", ") },
    { id: "status", title: "Status", width: "8rem", cell: ({ status }) => <Status of={status} /> },
    {
      id: "used",
      title: "Last used",
      width: "9rem",
      isMinor: true,
      cell: ({ lastUsedAt }) => <Time at={lastUsedAt} />,
    },
    {
      id: "ends",
      title: "Ends",
      width: "8rem",
      isMinor: true,
      cell: ({ expiresAt }) => (expiresAt === null ? <span className="soft">never</span> : <Time at={expiresAt} />),
    },
    {
      id: "actions",
      title: "Actions",
      width: "13rem",
      cell: ({ id, name, status, ...more }) =>
        why === null && status === "active" ? (
          <>
            <RowAction of={name} onClick={() => change({ id, name, status, ...more })}>
              Change
            </RowAction>{" "}
            <RowAction of={name} onClick={() => ask({ kind: "rotate", id, name })}>
              Rotate
            </RowAction>{" "}
            <RowAction of={name} onClick={() => ask({ kind: "revoke", id, name })}>
              Revoke
            </RowAction>
          </>
        ) : null,
    },
  ];
}

function KeyQuestions({
  isMaking,
  make,
  chosenOrgId,
  changing,
  change,
  asking,
  ask,
  forget,
  secret,
  setSecret,
}: {
  isMaking: boolean;
  make(isMaking: boolean): void;
  chosenOrgId: string | undefined;
  changing: Key | null;
  change(key: Key | null): void;
  asking: Asking;
  ask(what: Asking): void;
  forget: ReturnType<typeof useForget>;
  secret: string | null;
  setSecret(secret: string | null): void;
}) {
  return (
    <>
      {isMaking ? (
        chosenOrgId ? (
          <NewKey orgId={chosenOrgId} onClose={() => make(false)} onMade={setSecret} />
        ) : (
          <ChooseFirst title="New API key" what="A key" onClose={() => make(false)} />
        )
      ) : null}
      {changing ? <ChangeKey of={changing} onClose={() => change(null)} /> : null}
      {asking?.kind === "rotate" ? (
        <Confirm
          title={`Rotate ${asking.name}?`}
          verb="Rotate"
          onClose={() => ask(null)}
          action={async () => {
            const params = { path: { id: asking.id } };
            const { key } = await dataOf(api.POST("/api/v1/api-keys/{id}/rotate", { params }));
            setSecret(key);
            await forget("/api/v1/api-keys");
          }}
        >
          <p>The old key is refused at once: programs fail until they have the new one.</p>
        </Confirm>
      ) : null}
      {asking?.kind === "revoke" ? (
        <Confirm
          title={`Revoke ${asking.name}?`}
          verb="Revoke"
          typed={asking.name}
          onClose={() => ask(null)}
          action={async () => {
            await dataOf(api.DELETE("/api/v1/api-keys/{id}", { params: { path: { id: asking.id } } }));
            await forget("/api/v1/api-keys");
          }}
        >
          <p>The key is refused at once and permanently.</p>
        </Confirm>
      ) : null}
      {secret === null ? null : (
        <SecretOnce
          title="The new key"
          secret={secret}
          note="Programs send it as X-API-Key; it is shown only once."
          onClose={() => setSecret(null)}
        />
      )}
    </>
  );
}
