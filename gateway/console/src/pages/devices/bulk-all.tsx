import { useState } from "react";
import { useGet } from "../../api/queries.ts";
import { type ManyOperation, manyDeviceOperations } from "../../operations/many-devices.ts";
import { Field } from "../../parts/field.tsx";
import type { Matching } from "../../parts/list-selection.tsx";
import { useMe } from "../../parts/me.tsx";
import { Operation } from "../../parts/operation.tsx";
import { NamedOptions } from "../../parts/options.tsx";
import { StartJob } from "./start-job.tsx";

type BulkAllProps = { matching: Matching; onDone(): void };

/** What can be done with all devices that match the filters: each is a job in the background. */
export function BulkAll({ matching, onDone }: BulkAllProps) {
  const [asking, ask] = useState<ManyOperation | "move" | null>(null);
  const isReview = matching.filters.status === "quarantined";
  const shared = { matching, onClose: () => ask(null), onStarted: onDone };
  return (
    <>
      {manyDeviceOperations
        .filter((operation) => isReview || !operation.isReview)
        .map((operation) => (
          <Operation key={operation.id} name={operation.needs} onClick={() => ask(operation)}>
            <operation.icon size={15} aria-hidden />
            {operation.verb} …
          </Operation>
        ))}
      <Operation name="POST /api/v1/devices/bulk-jobs" onClick={() => ask("move")}>
        Move to site …
      </Operation>
      {asking === "move" ? <MoveAll {...shared} /> : null}
      {asking !== null && asking !== "move" ? (
        <StartJob {...shared} {...asking}>
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
