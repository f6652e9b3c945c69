import { Archive, ArchiveRestore, Pencil } from "lucide-react";
import { api } from "../api/api.ts";
import { dataOf } from "../api/queries.ts";
import { type EventType, EventTypeFields, eventTypeOf, ownTypeName } from "../parts/event-type-fields.tsx";
import { FormDialog } from "../parts/form-dialog.tsx";
import type { FormProps, Operation } from "./record-operation.ts";

const needs = "PATCH /api/v1/webhooks/event-types";
const forgets = ["/api/v1/webhooks/event-types"] as const;
const named = ({ type, example }: EventType) => ({ orgId: example.orgId, type: ownTypeName(type) });

const keep = (archived: boolean) => async (type: EventType) =>
  void (await dataOf(api.PATCH("/api/v1/webhooks/event-types", { body: { ...named(type), archived } })));

/** What can be done with an own event type. */
export const eventTypeOperations: readonly Operation<EventType>[] = [
  { id: "event-type.change", verb: "Change", needs, icon: Pencil, form: ChangeEventType, forgets },
  {
    id: "event-type.archive",
    verb: "Archive",
    needs,
    icon: Archive,
    isOffered: ({ archived }) => !archived,
    asks: {
      title: ({ type }) => `Archive ${type}?`,
      says: () => "Events of it are refused from now on. Subscriptions to it stay, and it can be taken back.",
    },
    run: keep(true),
    done: ({ type }) => `${type} is archived.`,
    forgets,
  },
  {
    id: "event-type.restore",
    verb: "Take it back",
    needs,
    icon: ArchiveRestore,
    isOffered: ({ archived }) => archived,
    run: keep(false),
    done: ({ type }) => `Events of ${type} are accepted again.`,
    forgets,
  },
];

/** Changes an own event type; it counts from the next posted event on. */
function ChangeEventType({ of: type, onClose, onDone }: FormProps<EventType>) {
  return (
    <FormDialog
      title={`Change ${type.type}`}
      verb="Save"
      running="Saving …"
      onClose={onClose}
      send={async (form) => {
        const body = { ...named(type), ...eventTypeOf(form) };
        await dataOf(api.PATCH("/api/v1/webhooks/event-types", { body }));
        await onDone("Saved; it takes effect with the next posted event.");
      }}
    >
      {(errorsOf) => <EventTypeFields of={type} errorsOf={errorsOf} />}
    </FormDialog>
  );
}
