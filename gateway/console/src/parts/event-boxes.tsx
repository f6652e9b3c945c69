import { useState } from "react";
import { useGet } from "../api/queries.ts";
import styles from "./field.module.css";
import type { ErrorsOf } from "./form-dialog.tsx";

type EventBoxesProps = {
  chosen?: readonly string[];
  /** Whose own event types can be chosen, too. */
  orgId?: string | undefined;
  errorsOf: ErrorsOf;
};

const path = "/api/v1/webhooks/event-types";

/** The events that a webhook receives: all, or the ticked ones. */
export function EventBoxes({ chosen = ["*"], orgId, errorsOf }: EventBoxesProps) {
  const types = useGet(path);
  const query = { source: "custom", orgId: orgId ?? "" };
  const own = useGet(path, { params: { query } }, { enabled: orgId !== undefined });
  const [isAll, setAll] = useState(chosen.includes("*"));
  const catalogue = [...(own.data?.data ?? []).filter(({ archived }) => !archived), ...(types.data?.data ?? [])];
  // Patterns, and types that the catalogue does not list: unticked, they go.
  const others = chosen.filter((each) => each !== "*" && types.data && catalogue.every(({ type }) => type !== each));
  return (
    <>
      <label>
        <input
          type="checkbox"
          name="events"
          value="*"
          checked={isAll}
          onChange={(event) => setAll(event.target.checked)}
        />{" "}
        All events, also those of later versions
      </label>
      {isAll ? null : (
        <fieldset className={styles.sentences}>
          <legend>Events</legend>
          {catalogue.map(({ type, description }) => (
            <label key={type}>
              <input type="checkbox" name="events" value={type} defaultChecked={chosen.includes(type)} /> {type}
              <span className="soft">{description}</span>
            </label>
          ))}
          {others.map((each) => (
            <label key={each}>
              <input type="checkbox" name="events" value={each} defaultChecked /> {each}
            </label>
          ))}
        </fieldset>
      )}
      {errorsOf("events") ? <p role="alert">{errorsOf("events")?.join(" ")}</p> : null}
    </>
  );
}
