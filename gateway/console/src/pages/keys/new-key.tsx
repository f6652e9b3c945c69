import type { Scope } from "@muster/client";
import { api } from "../../api/api.ts";
import { dataOf, useForget } from "../../api/queries.ts";
import { Field } from "../../parts/field.tsx";
import { FormDialog } from "../../parts/form-dialog.tsx";
import { ScopeBoxes } from "../../parts/scope-boxes.tsx";
import { checkedOf } from "../../rules/checked.ts";

const days = [30, 90, 365] as const;

/** Makes an API key of an organization; `onMade` gets the key itself. */
export function NewKey({ orgId, onClose, onMade }: { orgId: string; onClose(): void; onMade(key: string): void }) {
  const forget = useForget();
  return (
    <FormDialog
      title="New API key"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      send={async (form) => {
        const life = Number(form.get("days"));
        const body = {
          orgId,
          name: String(form.get("name")),
          scopes: checkedOf<Scope>(form, "scopes"),
          ...(life > 0 ? { expiresAt: new Date(Date.now() + life * 86_400_000).toISOString() } : {}),
        };
        const { key } = await dataOf(api.POST("/api/v1/api-keys", { body }));
        await forget("/api/v1/api-keys");
        return key;
      }}
      onSent={onMade}
    >
      {(errorsOf) => (
        <>
          <Field label="Name" errors={errorsOf("name")}>
            <input name="name" required maxLength={255} />
          </Field>
          <ScopeBoxes errorsOf={errorsOf} />
          <Field label="Ends" errors={errorsOf("expiresAt")}>
            <select name="days" defaultValue="90">
              {days.map((count) => (
                <option key={count} value={count}>
                  in {count} days
                </option>
              ))}
              <option value="0">never</option>
            </select>
          </Field>
        </>
      )}
    </FormDialog>
  );
}
