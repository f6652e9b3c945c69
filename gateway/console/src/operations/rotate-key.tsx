import type { ItemOf } from "@muster/client";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { RotateKeyForm } from "../parts/rotate-key-form.tsx";
import type { FormProps } from "./record-operation.ts";

type Key = ItemOf<"/api/v1/api-keys">;

const graces = [
  [0, "at once: programs fail until they have the new one"],
  [3_600, "in an hour"],
  [28_800, "in 8 hours"],
  [86_400, "in a day"],
] as const;

/** Replaces the secret of a key, which is shown this once; the old one may be accepted for a while. */
export function RotateKey({ of: key, onClose, onDone }: FormProps<Key>) {
  return (
    <RotateKeyForm
      name={key.name}
      note="Programs send it as X-API-Key; it is shown only once."
      onClose={onClose}
      onDone={onDone}
      rotate={async (form) => {
        const body = { graceSeconds: Number(form.get("graceSeconds")) };
        const params = { path: { id: key.id } };
        return (await dataOf(api.POST("/api/v1/api-keys/{id}/rotate", { params, body }))).key;
      }}
    >
      {(errorsOf) => (
        <Field label="The old key ends" errors={errorsOf("graceSeconds")}>
          <select name="graceSeconds" defaultValue="0">
            {graces.map(([seconds, words]) => (
              <option key={seconds} value={seconds}>
                {words}
              </option>
            ))}
          </select>
        </Field>
      )}
    </RotateKeyForm>
  );
}
