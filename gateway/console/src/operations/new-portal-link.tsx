import type { ItemOf } from "@muster/client";
import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import forms from "../parts/field.module.css";
import { Field } from "../parts/field.tsx";
import { type ErrorsOf, FormDialog } from "../parts/form-dialog.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { checkedOf } from "../rules/checked.ts";
import { capabilityWords, originsIn } from "../rules/portal-link-state.ts";
import { type Chosen, inOrganization } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

type Capability = ItemOf<"/api/v1/webhooks/portal-links">["capabilities"][number];

/** Minutes for which a link and its session may be good. */
const lives = [5, 15, 30, 60] as const;

/** Makes a link to the webhook portal of an organization, and shows it this once. */
function NewPortalLink({ of: { orgId }, onClose, onDone }: FormProps<{ orgId: string }>) {
  const [url, setUrl] = useState<string | null>(null);
  if (url !== null) {
    return (
      <SecretOnce
        what="link"
        title="The link to the portal"
        secret={url}
        note="Whoever opens it first has the session, so send it to one person. It works once and is shown only once."
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title="New portal link"
      verb="Create"
      running="Creating …"
      isKeptOpen
      onClose={onClose}
      send={async (form) => {
        const body = {
          orgId,
          name: String(form.get("name")).trim(),
          capabilities: checkedOf<Capability>(form, "capabilities"),
          expiresInMinutes: Number(form.get("expiresInMinutes")),
          embedOrigins: originsIn(String(form.get("embedOrigins"))),
          refreshUrl: String(form.get("refreshUrl")).trim() || null,
        };
        const made = await dataOf(api.POST("/api/v1/webhooks/portal-links", { body }));
        await onDone();
        setUrl(made.portalUrl);
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            It opens a page with the organization's webhooks and deliveries, for people who have no account here.
          </p>
          <Field label="Name" hint="The audit trail names the session after it." errors={errorsOf("name")}>
            <input name="name" required maxLength={255} autoComplete="off" placeholder="Acme developers" />
          </Field>
          <Capabilities errors={errorsOf("capabilities")} />
          <Field
            label="Link and session end"
            hint="Counted from now, not from its opening."
            errors={errorsOf("expiresInMinutes")}
          >
            <select name="expiresInMinutes" defaultValue="30">
              {lives.map((minutes) => (
                <option key={minutes} value={minutes}>
                  in {minutes} minutes
                </option>
              ))}
            </select>
          </Field>
          <Embedding errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  );
}

/** What the session may do: without any box it only shows. */
const Capabilities = ({ errors }: { errors: readonly string[] | undefined }) => (
  <>
    <fieldset className={forms.choices}>
      <legend>Besides seeing, people may</legend>
      {Object.entries(capabilityWords).map(([capability, words]) => (
        <label key={capability}>
          <input type="checkbox" name="capabilities" value={capability} /> {words}
        </label>
      ))}
    </fieldset>
    {errors ? <p role="alert">{errors.join(" ")}</p> : null}
  </>
);

/** Where the portal may stand in another page. */
const Embedding = ({ errorsOf }: { errorsOf: ErrorsOf }) => (
  <details open={errorsOf("embedOrigins") !== undefined || errorsOf("refreshUrl") !== undefined || undefined}>
    <summary>The portal stands in an application</summary>
    <Field label="Pages that may embed it" hint="Their https origins, one per line." errors={errorsOf("embedOrigins")}>
      <textarea name="embedOrigins" rows={2} spellCheck={false} placeholder="https://app.example.com" />
    </Field>
    <Field
      label="Page that opens a new link"
      hint="People are led there when the link has ended."
      errors={errorsOf("refreshUrl")}
    >
      <input name="refreshUrl" type="url" maxLength={2_000} />
    </Field>
  </details>
);

export const newPortalLink: Operation<Chosen> = {
  id: "portal-link.make",
  verb: "New portal link",
  needs: "POST /api/v1/webhooks/portal-links",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New portal link", what: "A portal link" }, NewPortalLink),
  forgets: ["/api/v1/webhooks/portal-links"],
};
