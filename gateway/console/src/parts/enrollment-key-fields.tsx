import type { paths } from "@muster/client";
import { useGet } from "../api/queries.ts";
import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";
import { LifeField, lifeOf } from "./life-field.tsx";
import { NamedOptions } from "./options.tsx";

type Wanted = NonNullable<paths["/api/v1/enrollment-keys"]["post"]["requestBody"]>["content"]["application/json"];
type Reinstall = NonNullable<Wanted["reinstall"]>;

/** What to do with a machine that enrolls again while its device is offline. */
export const reinstalls: Readonly<Record<Reinstall, string>> = {
  quarantine: "hold for approval",
  replace: "take over the old record",
  new: "add as a new device",
};
const isReinstall = (text: string): text is Reinstall => Object.hasOwn(reinstalls, text);

/** The body of the API for a form of these fields. */
export function enrollmentKeyOf(form: FormData, orgId: string): Wanted {
  const reinstall = String(form.get("reinstall"));
  return {
    orgId,
    siteId: String(form.get("siteId") ?? "") || null,
    name: String(form.get("name")),
    maxUsage: Number(form.get("maxUsage")),
    ...(isReinstall(reinstall) ? { reinstall } : {}),
    ...lifeOf(form),
  };
}

type EnrollmentKeyFieldsProps = { orgId: string; name?: string; maxUsage?: number; errorsOf: ErrorsOf };

/** Name, site, uses, life and reinstall setting of an enrollment key. */
export function EnrollmentKeyFields({ orgId, name, maxUsage = 1, errorsOf }: EnrollmentKeyFieldsProps) {
  const sites = useGet("/api/v1/orgs/sites", { params: { query: { orgId, limit: "100" } } });
  return (
    <>
      <Field label="Name" errors={errorsOf("name")}>
        <input name="name" required maxLength={255} defaultValue={name} autoComplete="off" />
      </Field>
      <Field label="Site" hint="Where the devices stand." errors={errorsOf("siteId")}>
        <select name="siteId">
          <option value="">none</option>
          <NamedOptions of={sites.data?.data ?? []} />
        </select>
      </Field>
      <Field label="Devices that may enroll with it" errors={errorsOf("maxUsage")}>
        <input name="maxUsage" type="number" required min={1} max={100_000} defaultValue={maxUsage} />
      </Field>
      <LifeField errors={errorsOf("expiresAt")} />
      <Field
        label="Reinstalled machines"
        hint="Machines with the hardware id of a device that is offline."
        errors={errorsOf("reinstall")}
      >
        <select name="reinstall">
          {Object.entries(reinstalls).map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </Field>
    </>
  );
}
