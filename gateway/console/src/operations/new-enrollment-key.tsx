import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { EnrollmentKeyFields, enrollmentKeyOf } from "../parts/enrollment-key-fields.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { type Chosen, inOrganization } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Makes an enrollment key of an organization, and shows it this once. */
function NewEnrollmentKey({ of: { orgId }, onClose, onDone }: FormProps<{ orgId: string }>) {
  const [secret, setSecret] = useState<string | null>(null);
  if (secret !== null) {
    return (
      <SecretOnce
        title="The new key"
        secret={secret}
        note="The agent's installer asks for it; it is shown only once."
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title="New enrollment key"
      verb="Create"
      running="Creating …"
      isKeptOpen
      onClose={onClose}
      send={async (form) => {
        const made = await dataOf(api.POST("/api/v1/enrollment-keys", { body: enrollmentKeyOf(form, orgId) }));
        await onDone();
        setSecret(made.key);
      }}
    >
      {(errorsOf) => <EnrollmentKeyFields orgId={orgId} errorsOf={errorsOf} isEndShown />}
    </FormDialog>
  );
}

export const newEnrollmentKey: Operation<Chosen> = {
  id: "enrollment-key.make",
  verb: "New enrollment key",
  needs: "POST /api/v1/enrollment-keys",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New enrollment key", what: "A key" }, NewEnrollmentKey),
  forgets: ["/api/v1/enrollment-keys"],
};
