import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { EnrollmentKeyFields, enrollmentKeyOf } from "../../parts/enrollment-key-fields.tsx";
import { Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { toRecord } from "../../parts/links.ts";
import { CopyButton } from "../../parts/list-head.tsx";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { Sides } from "../../parts/sides.tsx";
import { EmptyState, FailureState, NotAllowed } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { useWrite } from "../../parts/use-write.ts";
import { installLines } from "../../rules/install-line.ts";
import styles from "./device.module.css";

type Made = { id: string; key: string; maxUsage: number | null };

/** From an enrollment key to the devices that joined with it. */
export function AddDevices() {
  const me = useMe();
  const why = useWhyNot("POST /api/v1/enrollment-keys");
  const [{ orgId }] = useFilters();
  const chosenOrgId = me.orgId ?? orgId;
  const [made, setMade] = useState<Made | null>(null);
  return (
    <>
      <PageTitle title="Add devices" sub="One line on each machine; this page shows those that join." />
      {why !== null ? (
        <NotAllowed why={why} />
      ) : made ? (
        <Sides main={<InstallLines of={made} />} side={<Joined of={made} />} />
      ) : chosenOrgId ? (
        <Sides
          main={<KeyForm key={chosenOrgId} orgId={chosenOrgId} onMade={setMade} />}
          side={
            <>
              <InstallLines of={null} />
              <Section title="3. Machines that join" tone="quiet" action={<p>after step 1</p>}>
                <p className="soft">They are listed here as soon as they enroll, each with its state.</p>
              </Section>
            </>
          }
        />
      ) : (
        <EmptyState title="Choose an organization first.">
          <p>A device belongs to one: choose it at the top of the page.</p>
        </EmptyState>
      )}
    </>
  );
}

function KeyForm({ orgId, onMade }: { orgId: string; onMade(made: Made): void }) {
  const write = useWrite();
  const forget = useForget();
  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const body = enrollmentKeyOf(new FormData(event.currentTarget), orgId);
    const made = await write.run(() => dataOf(api.POST("/api/v1/enrollment-keys", { body })));
    if (made === null) return;
    onMade(made);
    await forget("/api/v1/enrollment-keys");
  }
  return (
    <Section title="1. Create an enrollment key">
      <form className={forms.form} data-size="wide" onSubmit={send}>
        {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
        <EnrollmentKeyFields orgId={orgId} name="Added by hand" maxUsage={5} errorsOf={write.errorsOf} />
        <div>
          <button type="submit" data-weight="primary" disabled={write.isRunning}>
            {write.isRunning ? "Creating …" : "Create the key"}
          </button>
        </div>
      </form>
    </Section>
  );
}

/** The lines to paste, by system, and the key that the installer asks for, shown this once; `of` is null before. */
const InstallLines = ({ of }: { of: Made | null }) => (
  <Section
    title="2. Run one line on each machine"
    {...(of ? {} : { tone: "quiet" as const, action: <p>after step 1</p> })}
  >
    <dl className={styles.lines}>
      {installLines(location.origin).map(([system, line]) => (
        <div key={system}>
          <dt>{system}</dt>
          <CodeLine of={line} what={`line for ${system}`} isCopied={of !== null} />
        </div>
      ))}
      <div>
        <dt>It asks for the enrollment key, which is shown only once</dt>
        {of ? <CodeLine of={of.key} what="key" isCopied /> : <dd>It stands here as soon as you have created it.</dd>}
      </div>
    </dl>
  </Section>
);

type CodeLineProps = { of: string; what: string; isCopied: boolean };

/** A line for a terminal, whole on one line, and beside it what copies it. */
const CodeLine = ({ of, what, isCopied }: CodeLineProps) => (
  <dd className={styles.code}>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled by keyboard */}
    <code tabIndex={0}>{of}</code>
    {isCopied ? <CopyButton what={what} text={() => of} isSmall /> : null}
  </dd>
);

/** The devices that enrolled with the key, polled every two seconds. */
function Joined({ of: { id, maxUsage } }: { of: Made }) {
  const query = { enrollmentKeyId: id, limit: "100" };
  const { data, error, refetch } = useGet("/api/v1/devices", { params: { query } }, { everyMs: 2_000 });
  const count = data?.data.length ?? 0;
  return (
    <Section title="3. Machines that joined">
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      <p role="status">
        {count.toLocaleString()} of {maxUsage?.toLocaleString() ?? "any number"}
        {maxUsage !== null && count >= maxUsage ? ": the key is used up." : "; waiting for the next …"}
      </p>
      <ul>
        {data?.data.map((device) => (
          <li key={device.id}>
            <Link {...toRecord("/devices/$id", { id: device.id })}>{device.hostname}</Link>{" "}
            <Status of={device.status} />
          </li>
        ))}
      </ul>
      <details>
        <summary>No machine joins</summary>
        <ul>
          <li>It must reach {location.origin}; a proxy is named by HTTPS_PROXY.</li>
          <li>An agent must be promoted for its system (Releases).</li>
          <li>
            The key may be mistyped or expired: <code>sudo muster-agent enroll</code> asks for it again.
          </li>
          <li>
            <code>sudo muster-agent doctor</code> on the machine says which one it is.
          </li>
        </ul>
      </details>
    </Section>
  );
}
