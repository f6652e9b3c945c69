import { Link } from "@tanstack/react-router";
import type { RefObject } from "react";
import { useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { MoreRows } from "../../parts/more-rows.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { Options } from "../../parts/options.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { EmptyState, ListState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";
import { reasonSentence } from "../../rules/reason-sentences.ts";

const states = ["failed", "offered", "returned", "succeeded", "cancelled", "deferred"] as const;

type RolloutDevicesProps = {
  id: string;
  state: string;
  setState(state: string): void;
  /** The choice of the state, for what leads to it. */
  focused: RefObject<HTMLSelectElement | null>;
};

/** The devices that were offered the version, by what happened. */
export function RolloutDevices({ id, state, setState, focused }: RolloutDevicesProps) {
  const list = useList(
    "/api/v1/agent-versions/rollouts/{id}/devices",
    { params: { path: { id }, query: { state } } },
    { everyMs: 10_000 },
  );
  return (
    <Section
      title="Devices"
      action={
        <label>
          State{" "}
          <select ref={focused} value={state} onChange={(event) => setState(event.target.value)}>
            <option value="">any</option>
            <Options of={states} />
          </select>
        </label>
      }
    >
      <ListState list={list} what="Loading devices">
        <EmptyState title={state ? "No device is in this state." : "No device has been offered it yet."} />
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Device", "Organization", "State", "What happened", "Offered"]}>
          {list.rows.map((attempt) => (
            <tr key={attempt.id}>
              <th scope="row">
                <Link {...toRecord("/devices/$id", { id: attempt.deviceId })}>
                  <NameOf id={attempt.deviceId} />
                </Link>
                <div className="soft">
                  {attempt.fromVersion} → {attempt.version}
                </div>
              </th>
              <td>
                <NameOf id={attempt.orgId} />
              </td>
              <td>
                <Status of={attempt.state} />
              </td>
              <td className="soft">{reasonSentence(attempt.reason)}</td>
              <td>
                <Instant at={attempt.offeredAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={list}>More devices</MoreRows>
    </Section>
  );
}
