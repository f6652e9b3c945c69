import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { SaveRow } from "../../parts/save-row.tsx";
import { FailureState, Loading, Said } from "../../parts/states.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { AuditPage } from "./audit-page.tsx";

/** Retention of an organization's audit rows. */
export const Retention = () => (
  <AuditPage title="Retention" needs="GET /api/v1/audit-logs/retention">
    {(orgId) => <Policy key={orgId} orgId={orgId} />}
  </AuditPage>
);

function Policy({ orgId }: { orgId: string }) {
  const policy = useGet("/api/v1/audit-logs/retention", { params: { query: { orgId } } });
  const why = useWhyNot("PATCH /api/v1/audit-logs/retention");
  const write = useWrite();
  const forget = useForget();
  const [said, say] = useState<string | null>(null);
  if (policy.error) return <FailureState failure={policy.error.failure} onRetry={() => void policy.refetch()} />;
  if (!policy.data) return <Loading what="Loading the retention" />;
  const { data } = policy;

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    say(null);
    const body = {
      orgId,
      retentionDays: Number(form.get("retentionDays")),
      archiveToS3: form.has("archiveToS3"),
    };
    const saved = await write.run(() => dataOf(api.PATCH("/api/v1/audit-logs/retention", { body })));
    if (saved === null) return;
    say(saved.pendingFrom ? "Saved: the shorter time is in force in 24 hours." : "Saved.");
    await forget("/api/v1/audit-logs/retention");
  }

  return (
    <>
      <Facts
        of={[
          ["Rows are kept for", `${data.retentionDays.toLocaleString()} days`],
          ["Archived before", data.archiveToS3 ? "yes" : "no"],
          ["Last checked", <Time key="cleanup" at={data.lastCleanupAt} />],
          ...(data.pendingRetentionDays !== null && data.pendingFrom !== null
            ? [
                ["Then for", `${data.pendingRetentionDays.toLocaleString()} days`] as const,
                ["From", <Instant key="from" at={data.pendingFrom} />] as const,
              ]
            : []),
        ]}
      />
      <Section title="Change it">
        <form className={forms.form} onSubmit={send}>
          <Said>{said}</Said>
          {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
          <fieldset className={forms.plain} disabled={why !== null}>
            <Field
              label="Days"
              hint="A longer time is in force at once. A shorter one waits 24 hours, and can be cancelled until then."
              errors={write.errorsOf("retentionDays")}
            >
              <input
                name="retentionDays"
                type="number"
                required
                min={1}
                max={3650}
                defaultValue={data.pendingRetentionDays ?? data.retentionDays}
              />
            </Field>
            <label>
              <input type="checkbox" name="archiveToS3" defaultChecked={data.archiveToS3} /> Archive rows to object
              storage before they are deleted
            </label>
          </fieldset>
          <SaveRow why={why} write={write} />
        </form>
      </Section>
    </>
  );
}
