import { Link } from "@tanstack/react-router";
import { type BodyOf, useGet, useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { useMe, useWhyNot } from "../../parts/me.tsx";
import { MoreRows } from "../../parts/more-rows.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import plain from "../../parts/plain-table.module.css";
import { PlainTable } from "../../parts/plain-table.tsx";
import { Segments } from "../../parts/segments.tsx";
import { EmptyState, ListState } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";
import { reasonSentence } from "../../rules/reason-sentences.ts";
import { systemName } from "../../rules/system-name.ts";
import styles from "./rollout.module.css";

/** Of so many failed devices at most each is asked for its platform, which attempts do not say. */
const requestedMax = 20;

type RolloutDevicesProps = {
  of: BodyOf<"/api/v1/agent-versions/rollouts/{id}/progress">["rollout"];
  /** Of the API; empty for all. */
  state: string;
  setState(state: string): void;
};

/** The devices that were offered the version, by what happened. */
export function RolloutDevices({ of: rollout, state, setState }: RolloutDevicesProps) {
  const list = useList(
    "/api/v1/agent-versions/rollouts/{id}/devices",
    { params: { path: { id: rollout.id }, query: { state } } },
    { everyMs: 10_000 },
  );
  const mayReadDevices = useWhyNot("GET /api/v1/devices/{id}") === null;
  const hasPlatforms = mayReadDevices && state === "failed" && list.rows.length <= requestedMax;
  const common = list.hasMore ? null : commonOf(list.rows.map(({ reason }) => reason));
  const hasReasons = common === null && list.rows.some(({ reason }) => reason !== null);
  return (
    <Section title="Devices" action={<States of={rollout} state={state} setState={setState} />}>
      <ListState list={list} what="Loading devices">
        <EmptyState title={state ? "No device is in this state." : "No device has been offered it yet."} />
      </ListState>
      {common ? <p className="soft">What happened to each: {reasonSentence(common)}</p> : null}
      {list.rows.length > 0 ? (
        <PlainTable
          columns={[
            "Device",
            ...(hasPlatforms ? ["Platform"] : []),
            "Organization",
            "Update",
            ...(state ? [] : ["State"]),
            ...(hasReasons ? ["What happened"] : []),
            "When",
          ]}
        >
          {list.rows.map((attempt) => (
            <tr key={attempt.id}>
              <th scope="row">
                <Link {...toRecord("/devices/$id", { id: attempt.deviceId })}>
                  <NameOf id={attempt.deviceId} />
                </Link>
              </th>
              {hasPlatforms ? (
                <td>
                  <Platform id={attempt.deviceId} />
                </td>
              ) : null}
              <td>
                <NameOf id={attempt.orgId} />
              </td>
              <td className={`number ${styles.update}`}>
                {attempt.fromVersion} → {attempt.version}
              </td>
              {state ? null : (
                <td>
                  <Status of={attempt.state} />
                </td>
              )}
              {hasReasons ? <td className="soft">{reasonSentence(attempt.reason)}</td> : null}
              <td className={plain.end}>
                <Instant at={attempt.endedAt ?? attempt.offeredAt} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
      <MoreRows of={list}>More devices</MoreRows>
    </Section>
  );
}

/** The one value of several rows; null where they differ. */
function commonOf(values: readonly (string | null)[]): string | null {
  const [first = null] = values;
  return values.length > 1 && values.every((value) => value === first) ? first : null;
}

/** System and architecture of a device. */
function Platform({ id }: { id: string }) {
  const { data } = useGet("/api/v1/devices/{id}", { params: { path: { id } } }, { freshMs: 300_000 });
  return data ? `${systemName(data.os)} ${data.arch}` : null;
}

/** The states of updates, with the rollout's counts where all of its devices are visible to the user. */
function States({ of: { partnerId, failed, succeeded }, state, setState }: RolloutDevicesProps) {
  const { scope } = useMe();
  const isWhole = scope === "system" || partnerId !== null;
  const segments = [
    ["", "All", null, null],
    ["failed", "Failed", "bad", failed],
    ["succeeded", "Succeeded", "good", succeeded],
    ["offered", "Offered", null, null],
    ["returned", "Returned", null, null],
    ["deferred", "Deferred", null, null],
    ["cancelled", "Cancelled", null, null],
  ] as const;
  return (
    <Segments
      label="State"
      of={segments.map(([key, title, tone, count]) => ({ key, title, tone, count: isWhole ? count : null }))}
      chosen={state}
      choose={setState}
    />
  );
}
