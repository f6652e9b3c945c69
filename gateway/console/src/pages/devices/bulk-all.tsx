import { useState } from "react";
import { useGet } from "../../api/queries.ts";
import { Field } from "../../parts/field.tsx";
import type { Matching } from "../../parts/list-selection.tsx";
import { useMe } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { StartJob, type Wanted } from "./start-job.tsx";

const change = "POST /api/v1/devices/bulk-jobs";
const remove = "DELETE /api/v1/devices/{id}";

type Choice = {
  verb: string;
  needs: string;
  /** For devices that wait for a decision alone. */
  isReview?: true;
  /** The word to type before what cannot be undone. */
  typed?: string;
  says: string;
} & Wanted;

const choices: readonly Choice[] = [
  {
    verb: "Approve",
    needs: change,
    isReview: true,
    action: "approve",
    says: "Their agents are accepted from now on. The devices with the same hardware ids stay, too.",
  },
  {
    verb: "Approve and merge",
    needs: remove,
    isReview: true,
    action: "merge",
    says: "Each takes over site, groups, labels and name of the device with its hardware id, which is decommissioned.",
  },
  {
    verb: "Reject",
    needs: remove,
    isReview: true,
    action: "reject",
    typed: "reject",
    says: "They are decommissioned: the tokens of their agents are refused at once and permanently.",
  },
  {
    verb: "Updates on",
    needs: change,
    action: "update",
    change: { autoUpdateEnabled: true },
    says: "Their agents are offered new versions again.",
  },
  {
    verb: "Updates off",
    needs: change,
    action: "update",
    change: { autoUpdateEnabled: false },
    says: "Their agents keep the version that they have.",
  },
  {
    verb: "Decommission",
    needs: remove,
    action: "decommission",
    typed: "decommission",
    says: "The tokens of their agents are refused at once and permanently; records, logs and audit rows stay. They no longer count against any limit.",
  },
];

type BulkAllProps = { matching: Matching; onDone(): void };

/** What can be done with all devices that match the filters: each is a job in the background. */
export function BulkAll({ matching, onDone }: BulkAllProps) {
  const [asking, ask] = useState<Choice | "move" | null>(null);
  const isReview = matching.filters.status === "quarantined";
  const shared = { matching, onClose: () => ask(null), onStarted: onDone };
  return (
    <>
      <Operation name={change} onClick={() => ask("move")}>
        Move to site …
      </Operation>
      {choices
        .filter((choice) => isReview || !choice.isReview)
        .map((choice) => (
          <Operation key={choice.verb} name={choice.needs} onClick={() => ask(choice)}>
            {choice.verb} …
          </Operation>
        ))}
      {asking === "move" ? <MoveAll {...shared} /> : null}
      {asking !== null && asking !== "move" ? (
        <StartJob {...shared} {...asking} wanted={asking}>
          <p>{asking.says}</p>
        </StartJob>
      ) : null}
    </>
  );
}

type MoveAllProps = { matching: Matching; onClose(): void; onStarted(): void };

/** Moves them to a site of their one organization, or out of their sites. */
function MoveAll({ matching, ...shared }: MoveAllProps) {
  const me = useMe();
  const orgId = matching.filters.orgId ?? me.orgId ?? undefined;
  const [siteId, choose] = useState("");
  const query = { orgId: orgId ?? "", limit: "100" };
  const sites = useGet("/api/v1/orgs/sites", { params: { query } }, { enabled: orgId !== undefined });
  return (
    <StartJob
      {...shared}
      matching={matching}
      verb="Move"
      wanted={{ action: "update", change: { siteId: siteId || null } }}
      isDisabled={!sites.data}
    >
      {orgId === undefined ? (
        <p>These devices may belong to several organizations: choose one at the top of the page first.</p>
      ) : (
        <Field label="To the site">
          <select value={siteId} onChange={(event) => choose(event.target.value)}>
            <option value="">none: out of their sites</option>
            <NamedOptions of={sites.data?.data ?? []} />
          </select>
        </Field>
      )}
    </StartJob>
  );
}
