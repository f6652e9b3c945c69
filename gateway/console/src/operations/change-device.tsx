import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { NamedOptions } from "../parts/options.tsx";

type ChangeDeviceProps = {
  of: ItemOf<"/api/v1/devices">;
  onClose(): void;
  onDone(sentence: string): Promise<void>;
};

/** Changes a device's host name and its site. */
export function ChangeDevice({ of: device, onClose, onDone }: ChangeDeviceProps) {
  const sites = useGet("/api/v1/orgs/sites", { params: { query: { orgId: device.orgId, limit: "100" } } });
  return (
    <FormDialog
      title={`Change ${device.hostname}`}
      verb="Save"
      running="Saving …"
      isDisabled={sites.isPending}
      onClose={onClose}
      send={async (form) => {
        const siteId = form.get("siteId");
        const body = {
          hostname: String(form.get("hostname")),
          // Without the list of sites the device stays where it is.
          ...(siteId === null ? {} : { siteId: String(siteId) || null }),
        };
        await dataOf(api.PATCH("/api/v1/devices/{id}", { params: { path: { id: device.id } }, body }));
        await onDone("Saved.");
      }}
    >
      {(errorsOf) => (
        <>
          <Field label="Host name" errors={errorsOf("hostname")}>
            <input name="hostname" required maxLength={255} defaultValue={device.hostname} spellCheck={false} />
          </Field>
          {sites.data ? (
            <Field label="Site" errors={errorsOf("siteId")}>
              <select name="siteId" defaultValue={device.siteId ?? ""}>
                <option value="">none</option>
                <NamedOptions of={sites.data.data} />
              </select>
            </Field>
          ) : null}
        </>
      )}
    </FormDialog>
  );
}
