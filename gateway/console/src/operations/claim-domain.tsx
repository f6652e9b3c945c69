import { Plus } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { type Chosen, ofTenant } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Claims a domain for an organization, or for the user's partner. */
function ClaimDomain({ of: { orgId }, onClose, onDone }: FormProps<Chosen>) {
  return (
    <FormDialog
      title="Claim a domain"
      verb="Claim"
      running="Claiming …"
      onClose={onClose}
      send={async (form) => {
        const at = orgId ? { orgId } : { ownerScope: "partner" as const };
        const body = { domain: String(form.get("domain")).trim(), ...at };
        await dataOf(api.POST("/api/v1/sso/domains", { body }));
        await onDone(`${body.domain} is claimed: “Verify” shows its TXT record.`);
      }}
    >
      {(errorsOf) => (
        <Field
          label="Domain"
          hint="It takes effect once its TXT record was found: “Verify” shows the record."
          errors={errorsOf("domain")}
        >
          <input name="domain" required maxLength={255} placeholder="acme.example" spellCheck={false} />
        </Field>
      )}
    </FormDialog>
  );
}

export const claimDomain: Operation<Chosen> = {
  id: "domain.claim",
  verb: "Claim a domain",
  alsoCalled: ["New domain"],
  needs: "POST /api/v1/sso/domains",
  icon: Plus,
  shown: "primary",
  form: ofTenant({ title: "Claim a domain", what: "A domain" }, ClaimDomain),
  forgets: ["/api/v1/sso/domains"],
};
