import { type FormEvent, useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget, useGet } from "../../api/queries.ts";
import { Facts, Section } from "../../parts/facts.tsx";
import forms from "../../parts/field.module.css";
import { Field } from "../../parts/field.tsx";
import { useWhyNot } from "../../parts/me.tsx";
import { SaveRow } from "../../parts/save-row.tsx";
import { FailureState, Loading, Said } from "../../parts/states.tsx";
import { useWrite } from "../../parts/use-write.ts";
import { PartnerUpdates } from "./partner-updates.tsx";
import { SettingsPage } from "./settings-page.tsx";

const needs = "GET /api/v1/orgs/partners/me";

/** One's own partner: what others see of it, and what it may have. */
export const OwnPartner = () => (
  <SettingsPage title="Partner" needs={needs}>
    <Record />
    <PartnerUpdates />
  </SettingsPage>
);

function Record() {
  const partner = useGet("/api/v1/orgs/partners/me");
  const why = useWhyNot("PATCH /api/v1/orgs/partners/me");
  const write = useWrite();
  const forget = useForget();
  const [said, say] = useState<string | null>(null);
  if (partner.error) return <FailureState failure={partner.error.failure} onRetry={() => void partner.refetch()} />;
  if (!partner.data) return <Loading what="Loading the partner" />;
  const { data } = partner;
  const contact = (data.settings.contact ?? {}) as Record<string, string | undefined>;
  const cap = (most: number | null) => most?.toLocaleString() ?? "unlimited";

  async function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    say(null);
    const body = {
      name: text("name"),
      billingEmail: text("billingEmail") || null,
      settings: {
        timezone: text("timezone") || null,
        contact: { name: text("contactName") || null, phone: text("contactPhone") || null },
      },
    };
    const saved = await write.run(() => dataOf(api.PATCH("/api/v1/orgs/partners/me", { body })));
    if (saved === null) return;
    say("Saved.");
    await forget("/api/v1/orgs");
  }

  return (
    <>
      <Facts
        of={[
          ["Plan", data.plan],
          ["Status", data.status],
          ["Organizations at most", cap(data.maxOrganizations)],
          ["Devices at most", cap(data.maxDevices)],
        ]}
      />
      <Section title="Change it">
        <form className={forms.form} onSubmit={send}>
          <Said>{said}</Said>
          {write.failure && !write.isAtFields ? <FailureState failure={write.failure} /> : null}
          <fieldset className={forms.plain} disabled={why !== null}>
            <Field label="Name" errors={write.errorsOf("name")}>
              <input name="name" required maxLength={255} defaultValue={data.name} />
            </Field>
            <Field label="Billing e-mail" errors={write.errorsOf("billingEmail")}>
              <input name="billingEmail" type="email" maxLength={255} defaultValue={data.billingEmail ?? ""} />
            </Field>
            <Field
              label="Time zone"
              hint="People of the partner may have times shown in it."
              errors={write.errorsOf("settings.timezone")}
            >
              <input name="timezone" list="zones" maxLength={50} defaultValue={String(data.settings.timezone ?? "")} />
            </Field>
            <datalist id="zones">
              {Intl.supportedValuesOf("timeZone").map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
            <Field label="Contact" hint="Whom your customers may ask." errors={write.errorsOf("settings")}>
              <input name="contactName" maxLength={255} defaultValue={contact.name ?? ""} />
            </Field>
            <Field label="Telephone of the contact">
              <input name="contactPhone" type="tel" maxLength={50} defaultValue={contact.phone ?? ""} />
            </Field>
          </fieldset>
          <SaveRow why={why} write={write} />
        </form>
      </Section>
    </>
  );
}
