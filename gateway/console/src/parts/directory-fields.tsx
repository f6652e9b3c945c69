import type { ItemOf } from "@muster/client";
import { useGet } from "../api/queries.ts";
import { useAssignableRoles } from "../api/use-assignable-roles.ts";
import { whyNot } from "../rules/why-not.ts";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";
import { useMe } from "./me.tsx";
import { NamedOptions } from "./options.tsx";

type Directory = ItemOf<"/api/v1/directories">;

/** The values of a form of these fields, as the API takes them. */
export function directoryOf(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? "").trim() || null;
  return {
    name: text("name") ?? "",
    preset: text("preset"),
    providerId: text("providerId"),
    defaultRoleId: text("defaultRoleId"),
  };
}

type DirectoryFieldsProps = { of?: Directory; orgId: string | undefined; errorsOf: ErrorsOf };

/** Name, product, provider and default role of a directory: of the chosen organization, or of the partner. */
export function DirectoryFields({ of, orgId, errorsOf }: DirectoryFieldsProps) {
  const me = useMe();
  const presets = useGet("/api/v1/directories/presets");
  const query = { limit: "100", ...(orgId ? { orgId } : { scope: "partner" }) };
  const mayReadProviders = whyNot(me, "GET /api/v1/sso/providers") === null;
  const providers = useGet("/api/v1/sso/providers", { params: { query } }, { enabled: mayReadProviders });
  const roles = useAssignableRoles(orgId ? "organization" : "partner", orgId);
  // A select whose options arrive later would forget what is chosen.
  const loaded = (isThere: unknown) => (isThere ? "loaded" : "loading");
  return (
    <>
      <Field label="Name" errors={errorsOf("name")}>
        <input name="name" required maxLength={255} defaultValue={of?.name} autoComplete="off" />
      </Field>
      <Field label="Product" hint="Its guide tells where to enter address and token." errors={errorsOf("preset")}>
        <select name="preset" key={loaded(presets.data)} defaultValue={of?.preset ?? ""}>
          <option value="">another</option>
          <NamedOptions of={presets.data?.data ?? []} />
        </select>
      </Field>
      <Field label="People sign in through" errors={errorsOf("providerId")}>
        <select name="providerId" key={loaded(providers.data)} defaultValue={of?.providerId ?? ""}>
          <option value="">no provider of its own</option>
          <NamedOptions of={providers.data?.data ?? []} />
        </select>
      </Field>
      <Field
        label="Role of people whom no mapping matches"
        hint="None: they have no access."
        errors={errorsOf("defaultRoleId")}
      >
        <select name="defaultRoleId" key={loaded(roles)} defaultValue={of?.defaultRoleId ?? ""}>
          <option value="">none</option>
          <NamedOptions of={roles ?? []} />
        </select>
      </Field>
    </>
  );
}
