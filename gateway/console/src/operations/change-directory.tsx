import type { ItemOf } from "@muster/client";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { DirectoryFields, directoryOf } from "../parts/directory-fields.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import type { FormProps } from "./record-operation.ts";

type Directory = ItemOf<"/api/v1/directories">;

/** Changes name, product, provider and default role of a directory. */
export function ChangeDirectory({ of: directory, onClose, onDone }: FormProps<Directory>) {
  const params = { path: { id: directory.id } };
  return (
    <FormDialog
      title={`Change ${directory.name}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        await dataOf(api.PATCH("/api/v1/directories/{id}", { params, body: directoryOf(form) }));
        await onDone("Saved.");
      }}
    >
      {(errorsOf) => <DirectoryFields of={directory} orgId={directory.orgId ?? undefined} errorsOf={errorsOf} />}
    </FormDialog>
  );
}

const graces = [
  [24, "in a day"],
  [1, "in an hour"],
  [168, "in a week"],
  [0, "at once"],
] as const;

/** Makes a new token, which is shown this once; earlier ones are accepted for a while. */
export function RotateDirectoryToken({ of: directory, onClose, onDone }: FormProps<Directory>) {
  const [token, setToken] = useState<string | null>(null);
  const params = { path: { id: directory.id } };
  if (token !== null) {
    return (
      <SecretOnce
        title="The new token"
        secret={token}
        note="Enter it at the directory; it is shown only once."
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title={`Rotate the token of ${directory.name}?`}
      verb="Rotate"
      running="Rotating …"
      isKeptOpen
      onClose={onClose}
      send={async (form) => {
        const body = { graceHours: Number(form.get("graceHours")) };
        const made = await dataOf(api.POST("/api/v1/directories/{id}/tokens", { params, body }));
        await onDone("The directory has a new token.");
        setToken(made.token);
      }}
    >
      {(errorsOf) => (
        <Field label="Earlier tokens end" errors={errorsOf("graceHours")}>
          <select name="graceHours">
            {graces.map(([hours, words]) => (
              <option key={hours} value={hours}>
                {words}
              </option>
            ))}
          </select>
        </Field>
      )}
    </FormDialog>
  );
}
