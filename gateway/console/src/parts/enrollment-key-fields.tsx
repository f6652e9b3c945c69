import type { paths } from "@muster/client";
import { useGet } from "../api/queries.ts";
import forms from "./field.module.css";
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

type EnrollmentKeyFieldsProps = {
  orgId: string;
  name?: string;
  maxUsage?: number;
  errorsOf: ErrorsOf;
  /** Its end beside the first fields, of which a dialog has two in a row. */
  isEndShown?: true;
};

/** Name, site and uses of an enrollment key; folded, its life and reinstall setting, which most leave as they are. */
export function EnrollmentKeyFields({ orgId, name, maxUsage = 1, errorsOf, isEndShown }: EnrollmentKeyFieldsProps) {
  const sites = useGet("/api/v1/orgs/sites", { params: { query: { orgId, limit: "100" } } });
  const end = <LifeField errors={errorsOf("expiresAt")} />;
  return (
    <>
      <div className={forms.columns}>
        <Field label="Name" errors={errorsOf("name")}>
          <input name="name" required maxLength={255} defaultValue={name} autoComplete="off" />
        </Field>
        <Field label="Site" errors={errorsOf("siteId")}>
          <select name="siteId">
            <option value="">none</option>
            <NamedOptions of={sites.data?.data ?? []} />
          </select>
        </Field>
        <Field label="Devices that may enroll with it" errors={errorsOf("maxUsage")}>
          <input name="maxUsage" type="number" required min={1} max={100_000} defaultValue={maxUsage} />
        </Field>
        {isEndShown ? end : null}
      </div>
      {/* Not a Fold: the form has these fields while it is closed, too. */}
      <details open={(errorsOf("expiresAt") ?? errorsOf("reinstall")) !== undefined || undefined}>
        <summary className="soft">More settings: {isEndShown ? "" : "end, "}reinstalled machines</summary>
        <div className={forms.columns}>
          {isEndShown ? null : end}
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
        </div>
      </details>
    </>
  );
}
