import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { directoryOperations } from "../../operations/directories.tsx";
import { HeadOperations } from "../../operations/operation-buttons.tsx";
import { EndsAt } from "../../parts/ends-at.tsx";
import { Facts, Section } from "../../parts/facts.tsx";
import { toRecord } from "../../parts/links.ts";
import { LongCode } from "../../parts/long-text.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { RecordState } from "../../parts/record-state.tsx";
import { Sides } from "../../parts/sides.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant, Time } from "../../parts/time.tsx";
import { useRecordId } from "../../parts/use-filters.ts";
import { cycleWords, refusedWords } from "../../rules/cycle-words.ts";
import { keyDays } from "../../rules/ending.ts";
import { directoryHealth } from "../../rules/health.ts";
import { DirectoryFailure } from "./directory-failure.tsx";
import { DirectoryRequests } from "./directory-requests.tsx";
import { Mapping } from "./mapping.tsx";
import { Product } from "./product.tsx";

type Directory = BodyOf<"/api/v1/directories/{id}">;

/** One directory: what to enter there, which groups are which roles, and what it asked. */
export function DirectoryPage() {
  const id = useRecordId("/settings/directories/$id");
  const directory = useGet("/api/v1/directories/{id}", { params: { path: { id } } }, { everyMs: 15_000 });
  const [chosen, choose] = useState<string | null>(null);
  if (!directory.data) return <RecordState title="Directory" of={directory} />;
  const { data } = directory;
  const health = directoryHealth(data);
  const isFailing = health.tone === "bad";
  const refused = chosen ?? (isFailing ? "true" : "");
  const log = <DirectoryRequests id={id} preset={data.preset} refused={refused} onRefused={choose} />;
  return (
    <>
      <PageTitle
        title={data.name}
        status={<Status of={health.word} tone={health.tone} />}
        sub={
          <span>
            {data.orgId ? <NameOf id={data.orgId} /> : "The partner's own"} · last request{" "}
            <Time at={data.lastCycle?.lastAt ?? null} />
            {data.rolesPending > 0 ? ` · ${data.rolesPending.toLocaleString()} roles still to change` : ""}
          </span>
        }
        actions={<HeadOperations of={data} operations={directoryOperations} name={data.name} />}
      />
      {isFailing ? <DirectoryFailure of={data} /> : null}
      {/* What was refused says why a directory fails: it comes first then. */}
      {isFailing ? log : null}
      <Sides
        main={<Mapping directory={data} />}
        side={
          <>
            {data.lastCycle ? <LastCycle of={data.lastCycle} id={id} isFailing={isFailing} /> : null}
            <Connection of={data} />
          </>
        }
      />
      {isFailing ? null : log}
    </>
  );
}

/** With `isFailing`, below a banner that says how many requests were refused. */
type LastCycleProps = { of: NonNullable<Directory["lastCycle"]>; id: string; isFailing: boolean };

/** How the last run of requests went, and how many groups there are. */
function LastCycle({ of: cycle, id, isFailing }: LastCycleProps) {
  const groups = useGet("/api/v1/directories/{id}/groups", { params: { path: { id }, query: { limit: "100" } } });
  return (
    <Section title="Last sync">
      <Facts
        of={[
          ["When", <Instant key="at" at={cycle.lastAt} />],
          ["People and groups", cycleWords(cycle)],
          [
            "Refused",
            isFailing ? null : (
              <span key="refused" className={cycle.refused > 0 ? "bad" : undefined}>
                {refusedWords(cycle)}
              </span>
            ),
          ],
          ["Groups so far", groups.data?.pagination.total?.toLocaleString()],
        ]}
        isBrief
      />
    </Section>
  );
}

/** What is entered at the directory, and its tokens. */
function Connection({ of: { preset, scimUrl, providerId, tokens, createdAt } }: { of: Directory }) {
  return (
    <Section title="Connection">
      <Facts
        of={[
          ["Product", <Product key="product" of={preset} />],
          ["SCIM address", <LongCode key="url" of={scimUrl} what="address" />],
          [
            "Sign-in through",
            providerId ? (
              <Link key="provider" {...toRecord("/settings/sso/$id", { id: providerId })}>
                <NameOf id={providerId} />
              </Link>
            ) : null,
          ],
          ["Created", <Time key="created" at={createdAt} />],
        ]}
        isBrief
      />
      {tokens.length > 0 ? (
        <PlainTable columns={["Token begins with", "Ends"]}>
          {tokens.map(({ id, prefix, createdAt, expiresAt }) => (
            <tr key={id}>
              <th scope="row">
                <code>{prefix}</code>
                <div className="soft">
                  created <Time at={createdAt} />
                </div>
              </th>
              <td>
                <EndsAt at={expiresAt} days={keyDays} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : (
        <p className="soft">It has no token: the directory is refused.</p>
      )}
    </Section>
  );
}
