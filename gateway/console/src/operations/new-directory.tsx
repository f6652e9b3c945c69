import { Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { DirectoryFields, directoryOf } from "../parts/directory-fields.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { SecretOnce } from "../parts/secret-once.tsx";
import { type Chosen, ofTenant } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

type Made = { token: string; scimUrl: string };

/** Makes a directory of an organization, or without one the partner's own, and shows its token this once. */
function NewDirectory({ of: { orgId }, onClose, onDone }: FormProps<Chosen>) {
  const [made, setMade] = useState<Made | null>(null);
  if (made !== null) {
    return (
      <SecretOnce
        title="The token of the directory"
        secret={made.token}
        note={`Enter it at the directory, with the address ${made.scimUrl}. It is shown only once.`}
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title="New directory"
      verb="Create"
      running="Creating …"
      isKeptOpen
      onClose={onClose}
      send={async (form) => {
        const owner = orgId ? { orgId } : { ownerScope: "partner" as const };
        const reply = await dataOf(api.POST("/api/v1/directories", { body: { ...directoryOf(form), ...owner } }));
        await onDone();
        setMade(reply);
      }}
    >
      {(errorsOf) => (
        <>
          <p className="soft">
            {orgId ? "For the people of the chosen organization." : "For the people of your partner."}
          </p>
          <DirectoryFields orgId={orgId} errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  );
}

export const newDirectory: Operation<Chosen> = {
  id: "directory.make",
  verb: "New directory",
  needs: "POST /api/v1/directories",
  icon: Plus,
  shown: "primary",
  form: ofTenant({ title: "New directory", what: "A directory" }, NewDirectory),
  forgets: ["/api/v1/directories"],
};
