import { Field } from "./field.tsx";
import type { ErrorsOf } from "./form-dialog.tsx";
import { Options } from "./options.tsx";

type Props = {
  of: { name: string; slug: string; status: string; type: string };
  statuses: readonly string[];
  types: readonly string[];
  /** Among whom a slug is unique. */
  among: string;
  /** What a suspended tenant means for its people. */
  suspended: string;
  errorsOf: ErrorsOf;
};

/** What a partner and an organization have alike: name, slug, status and type. */
export const TenantFields = ({ of, statuses, types, among, suspended, errorsOf }: Props) => (
  <>
    <Field label="Name" errors={errorsOf("name")}>
      <input name="name" required maxLength={255} defaultValue={of.name} autoComplete="off" />
    </Field>
    <Field label="Slug" hint={`In addresses; unique among ${among}.`} errors={errorsOf("slug")}>
      <input name="slug" required maxLength={100} defaultValue={of.slug} spellCheck={false} />
    </Field>
    <Field
      label="Status"
      hint={`Suspended: ${suspended}. Churned: devices are refused, too.`}
      errors={errorsOf("status")}
    >
      <select name="status" defaultValue={of.status}>
        <Options of={statuses} />
      </select>
    </Field>
    <Field label="Type" errors={errorsOf("type")}>
      <select name="type" defaultValue={of.type}>
        <Options of={types} />
      </select>
    </Field>
  </>
);
