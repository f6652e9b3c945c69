import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, type Failed, useForget, useGet } from "../../api/queries.ts";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { to } from "../../parts/links.ts";
import { CopyButton } from "../../parts/list-head.tsx";
import { useMe } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import secrets from "../../parts/secret-once.module.css";
import { FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { slugOf } from "../../rules/slug.ts";
import { whyNot } from "../../rules/why-not.ts";
import { AgentDownloads } from "./agent-downloads.tsx";
import { AwaitDevice } from "./await-device.tsx";
import styles from "./welcome.module.css";

type Made = { partnerId?: string; orgId?: string; siteId?: string; enrollmentKey?: string };

/**
 * From nothing to the first device online: partner, organization, site, enrollment key, agent. What exists already is
 * offered.
 */
export function Welcome() {
  const me = useMe();
  const [made, setMade] = useState<Made>({
    ...(me.partnerId ? { partnerId: me.partnerId } : {}),
    ...(me.orgId ? { orgId: me.orgId } : {}),
  });
  const why = whyNot(me, "POST /api/v1/enrollment-keys");
  if (why !== null) {
    return (
      <>
        <PageTitle title="Welcome" />
        <NotAllowed why={why} />
      </>
    );
  }
  const add = (more: Made) => setMade({ ...made, ...more });
  const { partnerId, orgId, siteId, enrollmentKey } = made;
  const steps = [
    ...(me.scope === "system" ? [{ title: "Partner", isDone: !!partnerId }] : []),
    ...(me.scope === "organization" ? [] : [{ title: "Organization", isDone: !!orgId }]),
    { title: "Site", isDone: !!siteId },
    { title: "Enrollment key", isDone: !!enrollmentKey },
    { title: "Device online", isDone: false },
  ];
  const current = steps.findIndex(({ isDone }) => !isDone);
  return (
    <>
      <PageTitle title="Bring a device online" />
      <ol className={styles.steps}>
        {steps.map(({ title, isDone }, index) => (
          <li key={title} aria-current={index === current ? "step" : undefined}>
            {title}
            {isDone ? " ✓" : ""}
          </li>
        ))}
      </ol>
      <div className={styles.step}>
        {!partnerId ? (
          <PartnerStep onDone={(id) => add({ partnerId: id })} />
        ) : !orgId ? (
          <OrganizationStep partnerId={partnerId} onDone={(id) => add({ orgId: id })} />
        ) : !siteId ? (
          <SiteStep orgId={orgId} onDone={(id) => add({ siteId: id })} />
        ) : !enrollmentKey ? (
          <KeyStep orgId={orgId} siteId={siteId} onDone={(key) => add({ enrollmentKey: key })} />
        ) : (
          <AgentStep orgId={orgId} enrollmentKey={enrollmentKey} />
        )}
      </div>
    </>
  );
}

type Choice = { id: string; name: string };

/** A partner, organization or site: choose one that exists, or name a new one. */
function Choose({
  what,
  hint,
  existing,
  create,
  onDone,
}: {
  what: string;
  hint: string;
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
      <p className="soft">{hint}</p>
      <form className={forms.form} onSubmit={send}>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <Field label={`Name of a new ${what}`} errors={write.errorsOf("name") ?? write.errorsOf("slug")}>
          <input name="name" required maxLength={100} autoComplete="off" />
        </Field>
        <div>
          <button type="submit" data-weight="primary" disabled={write.isRunning}>
            {write.isRunning ? "Creating …" : `Create ${what}`}
          </button>
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

function PartnerStep({ onDone }: { onDone(id: string): void }) {
  const existing = useGet("/api/v1/orgs/partners", { params: { query: newest } });
  return (
    <Choose
      what="partner"
      hint="A partner is a service provider or a company; organizations belong to it."
      existing={existing}
      create={(name) => dataOf(api.POST("/api/v1/orgs/partners", { body: { name, slug: slugOf(name) } }))}
      onDone={onDone}
    />
  );
}

function OrganizationStep({ partnerId, onDone }: { partnerId: string; onDone(id: string): void }) {
  const existing = useGet("/api/v1/orgs/organizations", { params: { query: { ...newest, partnerId } } });
  return (
    <Choose
      what="organization"
      hint="An organization is a customer: its devices, people, keys and audit trail are separate from all others'."
      existing={existing}
      create={(name) =>
        dataOf(api.POST("/api/v1/orgs/organizations", { body: { partnerId, name, slug: slugOf(name) } }))
      }
      onDone={onDone}
    />
  );
}

function SiteStep({ orgId, onDone }: { orgId: string; onDone(id: string): void }) {
  const existing = useGet("/api/v1/orgs/sites", { params: { query: { ...newest, orgId } } });
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return (
    <Choose
      what="site"
      hint={`A site is where devices stand. Its time zone will be ${timeZone}.`}
      existing={existing}
      create={(name) => dataOf(api.POST("/api/v1/orgs/sites", { body: { orgId, name, timezone: timeZone } }))}
      onDone={onDone}
    />
  );
}

function KeyStep({ orgId, siteId, onDone }: { orgId: string; siteId: string; onDone(key: string): void }) {
  const write = useWrite();
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body = { orgId, siteId, name: String(form.get("name")), maxUsage: Number(form.get("maxUsage")) };
    const made = await write.run(() => dataOf(api.POST("/api/v1/enrollment-keys", { body })));
    if (made !== null) onDone(made.key);
  }
  return (
    <form className={forms.form} onSubmit={send}>
      <p className="soft">Agents enroll with it. It is valid for an hour.</p>
      {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
      <Field label="Name" errors={write.errorsOf("name")}>
        <input name="name" required maxLength={255} defaultValue="First devices" autoComplete="off" />
      </Field>
      <Field label="Devices that may enroll with it" errors={write.errorsOf("maxUsage")}>
        <input name="maxUsage" type="number" required min={1} max={100000} defaultValue={5} />
      </Field>
      <div>
        <button type="submit" data-weight="primary" disabled={write.isRunning}>
          {write.isRunning ? "Creating …" : "Create enrollment key"}
        </button>
      </div>
    </form>
  );
}

function AgentStep({ orgId, enrollmentKey }: { orgId: string; enrollmentKey: string }) {
  const command = `npm run agent-sim -- --url ${location.origin} --enrollment-key ${enrollmentKey} --count 1`;
  return (
    <>
      <p>Start an agent with the key; the simulated one of this repository will do. The key is shown only once.</p>
      <pre className={secrets.secret}>{command}</pre>
      <div>
        <CopyButton what="command" text={() => command} />
      </div>
      <AgentDownloads />
      <AwaitDevice orgId={orgId} />
      <p>
        <Link {...to("/devices", { orgId })}>All devices of this organization</Link>
      </p>
    </>
  );
}
