import { useState } from "react";
import { useGet } from "../../api/queries.ts";
import { Controls, Json, Section } from "../../parts/facts.tsx";
import { asOptions, ChoiceField } from "../../parts/filter-bar.tsx";
import { isSubscribed } from "../../rules/subscribed.ts";

/** The meaning of a webhook's events, each with an example body as its receiver gets it. */
export function EventExamples({ subscribed }: { subscribed: readonly string[] }) {
  const types = useGet("/api/v1/webhooks/event-types");
  const [chosen, choose] = useState("");
  const eventTypes = (types.data?.data ?? []).filter(({ type }) => isSubscribed(subscribed, type));
  const shown = eventTypes.find(({ type }) => type === chosen) ?? eventTypes[0];
  if (!shown) return null;
  return (
    <Section
      title="Its events"
      action={
        <Controls>
          <ChoiceField
            label="Example of"
            options={asOptions(eventTypes.map(({ type }) => type))}
            value={shown.type}
            choose={(type = "") => choose(type)}
          />
        </Controls>
      }
    >
      <p>
        {shown.description}
        {shown.source === "posted" ? " It comes from programs of yours (POST /events); data is what they send." : ""}
      </p>
      <Json value={shown.example} label={`Example of ${shown.type}`} />
    </Section>
  );
}
