import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useGet, useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { useMe } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { EmptyState, FailureState, ListState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Instant } from "../../parts/time.tsx";
import { searchFor, useFilters } from "../../parts/use-filters.ts";
import { whyNot } from "../../rules/why-not.ts";
import { LastVerified } from "../audit/last-verified.tsx";
import styles from "./overview.module.css";

const statuses = ["online", "offline", "updating", "quarantined"] as const;

/** The overview: what needs attention, and where to begin. */
export function Overview() {
  const me = useMe();
  const [{ orgId }] = useFilters();
  const chosenOrgId = me.orgId ?? orgId;
  const may = (operation: string) => whyNot(me, operation) === null;
  return (
    <>
      <PageTitle title="Overview" />
      {may("GET /api/v1/devices") ? (
        <Section title="Devices">
          <DeviceTiles orgId={orgId} />
          <FirstDevice orgId={orgId} />
        </Section>
      ) : null}
      {may("GET /api/v1/webhooks") ? <FailingWebhooks orgId={chosenOrgId} /> : null}
      {may("GET /api/v1/api-keys") ? <EndingKeys orgId={orgId} /> : null}
      {chosenOrgId && may("GET /api/v1/audit-logs/verify") ? (
        <Section
          title="Seal of the audit trail"
          action={
            <Link to="/audit" search={searchFor({ orgId })}>
              Verify it from one of its rows on
            </Link>
          }
        >
          <LastVerified orgId={chosenOrgId} />
        </Section>
      ) : null}
      {may("GET /api/v1/audit-logs/logs") ? <NewestAudit orgId={orgId} /> : null}
    </>
  );
}

/** Counts cost more than rows: a minute old is new enough. */
const countEveryMs = 60_000;

function DeviceTiles({ orgId }: { orgId: string | undefined }) {
  const query = orgId ? { orgId } : {};
  const { data, error } = useGet("/api/v1/devices/summary", { params: { query } }, { everyMs: countEveryMs });
  const shown = (status: (typeof statuses)[number]) => {
    const found = data?.byStatus.find((each) => each.status === status);
    if (!found) return error ? "unknown" : "…";
    return `${found.isEstimate ? "about " : ""}${found.count.toLocaleString()}`;
  };
  return (
    <ul className={styles.tiles}>
      {statuses.map((status) => (
        <li key={status}>
          <Link to="/devices" search={searchFor({ status, orgId })} className={styles.tile}>
            <span className={styles.count}>{shown(status)}</span>
            <Status of={status} />
          </Link>
        </li>
      ))}
    </ul>
  );
}

function FirstDevice({ orgId }: { orgId: string | undefined }) {
  const query = { limit: "1", skipCount: "true", ...(orgId ? { orgId } : {}) } as const;
  const { data } = useGet("/api/v1/devices", { params: { query } }, { everyMs: countEveryMs });
  if (data === undefined || data.data.length > 0) return null;
  return (
    <EmptyState title="No device has enrolled yet.">
      <p>It takes a partner, an organization, an enrollment key and an agent: five minutes.</p>
      <Link to="/welcome" className="button primary">
        Bring the first device online
      </Link>
    </EmptyState>
  );
}

/** Of one organization, or of all that are visible to the user. */
function FailingWebhooks({ orgId }: { orgId: string | undefined }) {
  const list = useList(
    orgId ? "/api/v1/webhooks" : "/api/v1/webhooks/all",
    { params: { query: { status: "failed", ...(orgId ? { orgId } : {}) } } },
    { everyMs: countEveryMs },
  );
  return (
    <Section title="Failing webhooks">
      <ListState list={list}>
        <p className="soft">No webhook has failed.</p>
      </ListState>
      {list.rows.length > 0 ? (
        <ul>
          {list.rows.map(({ id, name, url }) => (
            <li key={id}>
              <Link to="/webhooks/$id" params={{ id }} search={searchFor({ orgId })}>
                {name}
              </Link>{" "}
              <span className="soft">{url}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </Section>
  );
}

/** Two weeks: time to rotate a key before its programs stop. */
const endingWithinMs = 14 * 86_400_000;

/** Active keys that end soon, of one organization or of all that are visible to the user. */
function EndingKeys({ orgId }: { orgId: string | undefined }) {
  // One moment for as long as the page is open: another one each time would be another list each time.
  const [expiresBefore] = useState(() => new Date(Date.now() + endingWithinMs).toISOString());
  const query = { status: "active", expiresBefore, ...(orgId ? { orgId } : {}) } as const;
  const list = useList("/api/v1/api-keys", { params: { query } }, { everyMs: countEveryMs });
  return (
    <Section
      title="Keys that end within two weeks"
      {...(list.rows.length > 0
        ? {
            action: (
              <Link to="/keys" search={searchFor({ ...query, orgId })}>
                All of them
              </Link>
            ),
          }
        : {})}
    >
      <ListState list={list}>
        <p className="soft">No key ends within two weeks.</p>
      </ListState>
      {list.rows.length > 0 ? (
        <PlainTable columns={["Name", "Begins with", "Ends"]}>
          {list.rows.slice(0, 10).map(({ id, name, keyPrefix, expiresAt }) => (
            <tr key={id}>
              <th scope="row">{name}</th>
              <td>
                <code>{keyPrefix}</code>
              </td>
              <td>{expiresAt ? <Instant at={expiresAt} /> : null}</td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}

function NewestAudit({ orgId }: { orgId: string | undefined }) {
  const query = { limit: "10", skipCount: "true", ...(orgId ? { orgId } : {}) } as const;
  const { data, error, isPending, refetch } = useGet(
    "/api/v1/audit-logs/logs",
    { params: { query } },
    { everyMs: 30_000 },
  );
  return (
    <Section
      title="Newest changes"
      action={
        <Link to="/audit" search={searchFor({ orgId })}>
          All audit rows
        </Link>
      }
    >
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {isPending ? <Loading /> : null}
      {data ? (
        <PlainTable columns={["Action", "Actor", "Result", "Time"]}>
          {data.data.map((row) => (
            <tr key={row.id}>
              <td>
                <Link to="/audit/$id" params={{ id: row.id }} search={searchFor({ orgId })}>
                  {row.action}
                </Link>
              </td>
              <td>{row.user.email ?? row.user.name ?? row.actorType}</td>
              <td>
                <Status of={row.result} />
              </td>
              <td>
                <Instant at={row.timestamp} />
              </td>
            </tr>
          ))}
        </PlainTable>
      ) : null}
    </Section>
  );
}
