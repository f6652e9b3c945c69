import type { UseQueryResult } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { api } from "../../api/api.ts";
import { dataOf, type Failed, useForget, useGet } from "../../api/queries.ts";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { SubmitButton } from "../../parts/form-actions.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { slugOf } from "../../rules/slug.ts";
import styles from "./welcome.module.css";

/** Of this browser; a new site gets it. */
export const { timeZone } = Intl.DateTimeFormat().resolvedOptions();

type Choice = { id: string; name: string };

/** A partner, organization or site: choose one that exists, or name a new one. */
function Choose({
  what,
  existing,
  create,
  onDone,
}: {
  what: string;
  existing: Pick<UseQueryResult<{ data: readonly Choice[] }, Failed>, "data" | "error" | "refetch">;
  create(name: string): Promise<Choice>;
  onDone(id: string): void;
}) {
  const write = useWrite();
  const forget = useForget();
  if (existing.error) return <FailureState failure={existing.error.failure} onRetry={() => void existing.refetch()} />;
  if (!existing.data) return <Loading />;
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name"));
    const made = await write.run(() => create(name));
    if (made === null) return;
    await forget("/api/v1/orgs");
    onDone(made.id);
  }
  return (
    <>
      <form className={forms.form} onSubmit={send}>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <Field label={`Name of a new ${what}`} errors={write.errorsOf("name") ?? write.errorsOf("slug")}>
          <input name="name" required maxLength={100} autoComplete="off" />
        </Field>
        <div>
          <SubmitButton isRunning={write.isRunning} running="Creating …">{`Create ${what}`}</SubmitButton>
        </div>
      </form>
      {existing.data.data.length > 0 ? (
        <>
          <h2>Or go on with one that exists</h2>
          <ul className={styles.existing}>
            {existing.data.data.map(({ id, name }) => (
              <li key={id}>
                <button type="button" onClick={() => onDone(id)}>
                  {name}
                </button>
              </li>
            ))}
          </ul>
        </>
      ) : null}
    </>
  );
}

const newest = { limit: "20" } as const;

export function PartnerStep({ onDone }: { onDone(id: string): void }) {
  const existing = useGet("/api/v1/orgs/partners", { params: { query: newest } });
  return (
    <Choose
      what="partner"
      existing={existing}
      create={(name) => dataOf(api.POST("/api/v1/orgs/partners", { body: { name, slug: slugOf(name) } }))}
      onDone={onDone}
    />
  );
}

export function OrganizationStep({ partnerId, onDone }: { partnerId: string; onDone(id: string): void }) {
  const existing = useGet("/api/v1/orgs/organizations", { params: { query: { ...newest, partnerId } } });
  return (
    <Choose
      what="organization"
      existing={existing}
      create={(name) =>
        dataOf(api.POST("/api/v1/orgs/organizations", { body: { partnerId, name, slug: slugOf(name) } }))
      }
      onDone={onDone}
    />
  );
}

export function SiteStep({ orgId, onDone }: { orgId: string; onDone(id: string): void }) {
  const existing = useGet("/api/v1/orgs/sites", { params: { query: { ...newest, orgId } } });
  return (
    <Choose
      what="site"
      existing={existing}
      create={(name) => dataOf(api.POST("/api/v1/orgs/sites", { body: { orgId, name, timezone: timeZone } }))}
      onDone={onDone}
    />
  );
}
