import type { ItemOf } from "@muster/client";
import { RotateCcwKey, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { LifeField, lifeOf } from "../parts/life-field.tsx";
import { RotateKeyForm } from "../parts/rotate-key-form.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

type EnrollmentKey = ItemOf<"/api/v1/enrollment-keys">;

const of = ({ id }: EnrollmentKey) => ({ path: { id } });
const forgets = ["/api/v1/enrollment-keys"] as const;

/** Replaces a key's secret, and counts its uses from zero again. */
function RotateEnrollmentKey({ of: key, onClose, onDone }: FormProps<EnrollmentKey>) {
  return (
    <RotateKeyForm
      name={key.name}
      note="Installers ask for it; it is shown only once."
      onClose={onClose}
      onDone={onDone}
      rotate={async (form) => {
        const body = { maxUsage: Number(form.get("maxUsage")), ...lifeOf(form) };
        return (await dataOf(api.POST("/api/v1/enrollment-keys/{id}/rotate", { params: of(key), body }))).key;
      }}
    >
      {(errorsOf) => (
        <>
          <p>The old key is refused at once. Devices that enrolled with it are unaffected.</p>
          <Field label="Devices that may enroll with it" errors={errorsOf("maxUsage")}>
            <input name="maxUsage" type="number" required min={1} max={100_000} defaultValue={key.maxUsage ?? 1} />
          </Field>
          <LifeField errors={errorsOf("expiresAt")} />
        </>
      )}
    </RotateKeyForm>
  );
}

/** What can be done with an enrollment key. */
export const enrollmentKeyOperations: readonly Operation<EnrollmentKey>[] = [
  {
    id: "enrollment-key.rotate",
    verb: "Rotate",
    needs: "POST /api/v1/enrollment-keys/{id}/rotate",
    icon: RotateCcwKey,
    form: RotateEnrollmentKey,
    forgets,
  },
  {
    id: "enrollment-key.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/enrollment-keys/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete ${name}?`,
      says: () => "No further agent can enroll with it. Devices that enrolled with it are unaffected.",
    },
    run: async (key) => void (await dataOf(api.DELETE("/api/v1/enrollment-keys/{id}", { params: of(key) }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
  },
];
