import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "./field.tsx";
import { FormDialog } from "./form-dialog.tsx";

type SiteFormProps = {
  onClose(): void;
  onDone(sentence: string): Promise<void>;
} & ({ orgId: string; site?: undefined } | { site: ItemOf<"/api/v1/orgs/sites">; orgId?: undefined });

const zones = Intl.supportedValuesOf("timeZone");

/** Makes a site of an organization, or changes one. */
export function SiteForm({ orgId, site, onClose, onDone }: SiteFormProps) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return (
    <FormDialog
      title={site ? `Change ${site.name}` : "New site"}
      verb={site ? "Save" : "Create"}
      running={site ? "Saving …" : "Creating …"}
      onClose={onClose}
      send={async (form) => {
        const body = { name: String(form.get("name")), timezone: String(form.get("timezone")) };
        await (site
          ? dataOf(api.PATCH("/api/v1/orgs/sites/{id}", { params: { path: { id: site.id } }, body }))
          : dataOf(api.POST("/api/v1/orgs/sites", { body: { ...body, orgId } })));
        await onDone(site ? "Saved." : `${body.name} is made.`);
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} defaultValue={site?.name} autoComplete="off" />
          </Field>
          <Field
            label="Time zone"
            hint="For people and programs that read the site; update windows are in UTC."
            errors={errorsOf("timezone")}
          >
            <input name="timezone" required list="zones" maxLength={50} defaultValue={site?.timezone ?? timeZone} />
          </Field>
          <datalist id="zones">
            {zones.map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      )}
    </FormDialog>
  );
}
