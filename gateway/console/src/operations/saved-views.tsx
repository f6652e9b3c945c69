import type { ItemOf } from "@muster/client";
import { Pencil, Trash2 } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

type View = ItemOf<"/api/v1/saved-views">;

const of = ({ id }: View) => ({ path: { id } });
const forgets = ["/api/v1/saved-views"] as const;

/** What can be done with a saved view without its list on screen. */
export const viewOperations: readonly Operation<View>[] = [
  {
    id: "view.rename",
    verb: "Rename",
    needs: "PATCH /api/v1/saved-views/{id}",
    icon: Pencil,
    form: RenameView,
    forgets,
  },
  {
    id: "view.delete",
    verb: "Delete",
    needs: "DELETE /api/v1/saved-views/{id}",
    icon: Trash2,
    tone: "danger",
    asks: {
      title: ({ name }) => `Delete the view ${name}?`,
      says: ({ shared }) =>
        shared ? "Others who use it lose it, too; the rows stay." : "Its filters are forgotten; the rows stay.",
    },
    run: async (view) => void (await dataOf(api.DELETE("/api/v1/saved-views/{id}", { params: of(view) }))),
    done: ({ name }) => `${name} is deleted.`,
    forgets,
  },
];

function RenameView({ of: view, onClose, onDone }: FormProps<View>) {
  return (
    <FormDialog
      title={`Rename ${view.name}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const body = { name: String(form.get("name")).trim() };
        await dataOf(api.PATCH("/api/v1/saved-views/{id}", { params: of(view), body }));
        await onDone("Saved.");
      }}
    >
      {(errorsOf) => (
        <Field label="Name" errors={errorsOf("name")}>
          <input name="name" required maxLength={255} defaultValue={view.name} autoComplete="off" />
        </Field>
      )}
    </FormDialog>
  );
}
