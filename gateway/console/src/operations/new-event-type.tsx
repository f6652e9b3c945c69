import { Plus } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { EventTypeFields, eventTypeOf, ownTypeName } from "../parts/event-type-fields.tsx";
import { Field } from "../parts/field.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import { type Chosen, inOrganization } from "./chosen.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

/** Makes an own event type of an organization. */
function NewEventType({ of: { orgId }, onClose, onDone }: FormProps<{ orgId: string }>) {
  return (
    <FormDialog
      title="New event type"
      verb="Create"
      running="Creating …"
      onClose={onClose}
      send={async (form) => {
        const body = { orgId, type: ownTypeName(String(form.get("type"))), ...eventTypeOf(form) };
        await dataOf(api.POST("/api/v1/webhooks/event-types", { body }));
        await onDone(`Webhooks can subscribe to ${body.type}.`);
      }}
    >
      {(errorsOf) => (
        <>
          <Field
            label="Type"
            hint="After custom., segments of lower-case letters, digits and underscores, with dots between them."
            errors={errorsOf("type")}
          >
            <input
              name="type"
              required
              maxLength={255}
              placeholder="order_shipped"
              spellCheck={false}
              autoCapitalize="off"
              autoComplete="off"
            />
          </Field>
          <EventTypeFields errorsOf={errorsOf} />
        </>
      )}
    </FormDialog>
  );
}

export const newEventType: Operation<Chosen> = {
  id: "event-type.make",
  verb: "New event type",
  needs: "POST /api/v1/webhooks/event-types",
  icon: Plus,
  shown: "primary",
  form: inOrganization({ title: "New event type", what: "An event type" }, NewEventType),
  forgets: ["/api/v1/webhooks/event-types"],
};
