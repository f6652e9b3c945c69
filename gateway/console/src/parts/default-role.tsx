import { useAssignableRoles } from "../api/use-assignable-roles.ts";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";
import { NamedOptions } from "./options.tsx";

type DefaultRoleProps = { orgId: string | undefined; chosen?: string | null; errorsOf: ErrorsOf };

/** The role of users at their first sign-in through the provider; without one they need an invitation. */
export function DefaultRole({ orgId, chosen, errorsOf }: DefaultRoleProps) {
  const roles = useAssignableRoles(orgId ? "organization" : "partner", orgId);
  if (!roles) return null;
  return (
    <Field
      label="Accounts of new people"
      hint="People get this role at their first sign-in through it."
      errors={errorsOf("defaultRoleId") ?? errorsOf("autoProvision")}
    >
      <select name="defaultRoleId" defaultValue={chosen ?? ""}>
        <option value="">are not made: they need an invitation</option>
        <NamedOptions of={roles} />
      </select>
    </Field>
  );
}
