import { useState } from "react";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { EnrollmentKeyFields, enrollmentKeyOf } from "../../parts/enrollment-key-fields.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { SecretOnce } from "../../parts/secret-once.tsx";

/** Makes an enrollment key of an organization, and shows it this once. */
export function NewEnrollmentKey({ orgId, onClose }: { orgId: string; onClose(): void }) {
  const forget = useForget();
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
        await forget("/api/v1/enrollment-keys");
        setSecret(made.key);
      }}
    >
      {(errorsOf) => <EnrollmentKeyFields orgId={orgId} errorsOf={errorsOf} />}
    </FormDialog>
  );
}
