import { type BodyOf, useGet } from "../api/queries.ts";
import { Facts, Json, Section } from "../parts/facts.tsx";
import { PlainTable } from "../parts/plain-table.tsx";
import { FailureState, Loading } from "../parts/states.tsx";
import { Head, type View } from "./view-parts.tsx";

const path = "/api/v1/webhooks/event-types";
type EventType = BodyOf<typeof path>["data"][number];

/** What a webhook can subscribe to: the organization's own types, then the platform's. */
function useEventTypes() {
  const own = useGet(path, { params: { query: { source: "custom" } } });
  const others = useGet(path);
  const failure = (own.error ?? others.error)?.failure ?? null;
  return {
    types: [...(own.data?.data ?? []), ...(others.data?.data ?? [])],
    failure,
    isPending: own.isPending || others.isPending,
  };
}

/** The catalogue; each type leads to its schema and its example. */
export function EventTypes({ go }: { go(view: View): void }) {
  const { types, failure } = useEventTypes();
  return (
    <Section title="Event types">
      {failure ? <FailureState failure={failure} /> : null}
      <PlainTable columns={["Type", "When it is sent"]}>
        {types.map(({ type, description, archived }) => (
          <tr key={type}>
            <td>
              <button type="button" onClick={() => go({ at: "event type", type })}>
                {type}
              </button>
            </td>
            <td>{archived ? `Archived: ${description}` : description}</td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}

/** One type of event, as a developer who receives it needs it. */
export function EventTypeView({ type, go }: { type: string; go(view: View): void }) {
  const { types, failure, isPending } = useEventTypes();
  const found = types.find((each) => each.type === type);
  return (
    <>
      <Head title={type} onBack={() => go({ at: "list" })} />
      {failure ? <FailureState failure={failure} /> : null}
      {isPending ? <Loading /> : null}
      {found ? <Described of={found} /> : null}
    </>
  );
}

const sources: Readonly<Record<EventType["source"], string>> = {
  custom: "an event type of this organization",
  platform: "the platform",
  posted: "programs that post events",
};

const Described = ({ of: { description, source, version, archived, schema, example } }: { of: EventType }) => (
  <>
    <Section title="When it is sent">
      <Facts
        of={[
          ["Meaning", description],
          ["Comes from", sources[source]],
          ["Version", version],
          ["Archived", archived ? "yes: no more events of it come" : "no"],
        ]}
      />
    </Section>
    {schema ? (
      <Section title="Schema of data">
        <Json value={schema} label="Schema" />
      </Section>
    ) : null}
    <Section title="Example of a body">
      <Json value={example} label="Example" />
    </Section>
  </>
);
