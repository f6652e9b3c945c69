import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { toast } from "../../parts/said.ts";
import type { Limits, ringOf } from "../../rules/rings.ts";

type KeepTemplateProps = {
  rings: ReturnType<typeof ringOf>[];
  limits: Limits;
  /** The template that the form began with, which may be replaced. */
  template: { id: string; name: string } | undefined;
  onClose(): void;
};

/** Keeps waves and limits under a name for later rollouts, or replaces the template they came from. */
export function KeepTemplate({ rings, limits, template, onClose }: KeepTemplateProps) {
  const forget = useForget();
  return (
    <FormDialog
      title="Keep as a template"
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const name = String(form.get("name")).trim();
        const body = { name, rings, ...limits };
        await (template && form.has("replace")
          ? dataOf(
              api.PUT("/api/v1/agent-versions/rollout-templates/{id}", { params: { path: { id: template.id } }, body }),
            )
          : dataOf(api.POST("/api/v1/agent-versions/rollout-templates", { body })));
        await forget("/api/v1/agent-versions/rollout-templates");
        return `The template “${name}” is saved.`;
      }}
      onSent={toast}
    >
      {(errorsOf) => (
        <>
          <Field label="Name of the template" errors={errorsOf("name")}>
            <input name="name" required maxLength={100} defaultValue={template?.name} autoComplete="off" />
          </Field>
          {template ? (
            <label>
              <input type="checkbox" name="replace" defaultChecked /> Replace “{template.name}”
            </label>
          ) : null}
          <p className="soft">
            {rings.length} {rings.length === 1 ? "wave" : "waves"}. Rollouts that were started from it stay as they are.
          </p>
        </>
      )}
    </FormDialog>
  );
}
