import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Failed } from "../api/queries.ts";
import type { DeviceCounts } from "../rules/connected.ts";
import { CountedDevices } from "./device-counts.tsx";
import { Section } from "./facts.tsx";
import { PlainTable } from "./plain-table.tsx";
import { FailureState, Loading } from "./states.tsx";

/** So many are shown: those with the largest share of offline devices, with troubleFirst as their order. */
export const shownOwners = 8;

type OwnerTableProps<R> = {
  title: string;
  /** The title of the column of names. */
  noun: string;
  /** Leads to the whole list. */
  action: ReactNode;
  empty: string;
  of: Pick<UseQueryResult<{ data: readonly R[] }, Failed>, "data" | "error" | "isPending" | "refetch">;
  nameOf(row: R): ReactNode;
  /** Whose devices its counts are of. */
  ownerOf(row: R): { orgId: string; siteId?: string };
};

/** Organizations or sites of a record, with how many of their devices are online. */
export function OwnerTable<R extends { id: string; deviceCounts?: DeviceCounts }>(props: OwnerTableProps<R>) {
  const { title, noun, action, empty, of, nameOf, ownerOf } = props;
  const rows = of.data?.data;
  return (
    <Section title={title} action={action}>
      {of.error ? <FailureState failure={of.error.failure} onRetry={() => void of.refetch()} /> : null}
      {of.isPending ? <Loading /> : null}
      {rows?.length === 0 ? <p className="soft">{empty}</p> : null}
      {rows && rows.length > 0 ? (
        <PlainTable columns={[noun, "Devices"]}>
          {rows.map((row) => (
            <tr key={row.id}>
              <th scope="row">{nameOf(row)}</th>
              <td>{row.deviceCounts ? <CountedDevices of={ownerOf(row)} counts={row.deviceCounts} /> : null}</td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
