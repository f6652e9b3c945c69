import type { UseQueryResult } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, type Failed, useForget, useGet } from "../../api/queries.ts";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { SubmitButton } from "../../parts/form-actions.tsx";
import { FailureState, Loading } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { slugOf } from "../../rules/slug.ts";

/** Of this browser; a new site gets it. */
export const { timeZone } = Intl.DateTimeFormat().resolvedOptions();

type Choice = { id: string; name: string };

/** What is chosen for one that does not exist yet. */
const anew = "new";

type ChooseProps = {
  what: string;
  existing: Pick<UseQueryResult<{ data: readonly Choice[] }, Failed>, "data" | "error" | "refetch">;
  create(name: string): Promise<Choice>;
  onDone(id: string): void;
};

/** A partner, organization or site: one that exists or a new one, a choice of equals; the only one is chosen. */
function Choose({ what, existing, create, onDone }: ChooseProps) {
  const write = useWrite();
  const forget = useForget();
  const [chosen, choose] = useState<string | null>(null);
  if (existing.error) return <FailureState failure={existing.error.failure} onRetry={() => void existing.refetch()} />;
  if (!existing.data) return <Loading />;
  const rows = existing.data.data;
  const [only] = rows.length < 2 ? [rows[0]?.id ?? anew] : [];
  const wanted = chosen ?? only;
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    if (wanted !== undefined && wanted !== anew) return onDone(wanted);
    const name = String(new FormData(event.currentTarget).get("name"));
    const made = await write.run(() => create(name));
    if (made === null) return;
    await forget("/api/v1/orgs");
    onDone(made.id);
  }
  const radio = (value: string, title: string) => (
    <label key={value}>
      <input
        type="radio"
        name="chosen"
        value={value}
        required
        checked={value === wanted}
        onChange={() => choose(value)}
      />{" "}
      {title}
    </label>
  );
  // Below many it would not be seen.
  const [isLong, makes] = [rows.length > 8, radio(anew, `A new ${what}`)];
  return (
    <form className={forms.form} onSubmit={send}>
      {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
      {rows.length > 0 ? (
        <fieldset className={forms.plain}>
          <legend className="visually-hidden">{`The ${what}`}</legend>
          {isLong ? makes : null}
          {rows.map(({ id, name }) => radio(id, name))}
          {isLong ? null : makes}
        </fieldset>
      ) : null}
      {wanted === anew ? (
        <Field label={`Name of a new ${what}`} errors={write.errorsOf("name") ?? write.errorsOf("slug")}>
          <input name="name" required maxLength={100} autoComplete="off" />
        </Field>
      ) : null}
      <div>
        <SubmitButton isRunning={write.isRunning} running="Creating …">
          {wanted === anew ? `Create ${what}` : "Continue"}
        </SubmitButton>
      </div>
    </form>
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
