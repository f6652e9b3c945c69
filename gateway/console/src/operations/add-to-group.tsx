import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf, useGet } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { NamedOptions } from "../parts/options.tsx";
import type { FormProps } from "./record-operation.ts";

/** Adds a device to a group of its organization. */
export function AddToGroup({ of: device, onClose, onDone }: FormProps<ItemOf<"/api/v1/devices">>) {
  const query = { orgId: device.orgId, limit: "100" };
  const groups = useGet("/api/v1/device-groups", { params: { query } });
  return (
    <FormDialog
      title={`Add ${device.hostname} to a group`}
      verb="Add"
      running="Adding …"
      isDisabled={!groups.data?.data.length}
      onClose={onClose}
      send={async (form) => {
        const params = { path: { id: String(form.get("groupId")) } };
        await dataOf(api.POST("/api/v1/device-groups/{id}/devices", { params, body: { deviceIds: [device.id] } }));
        await onDone(`${device.hostname} is in the group.`);
      }}
    >
      {(errorsOf) => (
        <Field
          label="Group"
          {...(groups.data?.data.length === 0 ? { hint: "Its organization has no group yet." } : {})}
          errors={errorsOf("deviceIds")}
        >
          <select name="groupId" required>
            <NamedOptions of={groups.data?.data ?? []} />
          </select>
        </Field>
      )}
    </FormDialog>
  );
}
