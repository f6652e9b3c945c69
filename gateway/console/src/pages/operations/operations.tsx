import { Link } from "@tanstack/react-router";
import { CircleAlert, TriangleAlert } from "lucide-react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { NeedRow, NeedStep, NeedsList } from "../../parts/notice.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlainTable } from "../../parts/plain-table.tsx";
import { FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { useShortTime } from "../../parts/time.tsx";
import {
  checkName,
  isFine,
  type PlatformNeed,
  platformNeeds,
  sharedChecks,
  waitingWords,
  waitsLong,
} from "../../rules/platform-needs.ts";

type Platform = BodyOf<"/api/v1/platform/status">;

/** The platform's parts, for operators: what needs a look, then each service with its dependencies and what waits. */
export function Operations() {
  const why = useWhyNot("GET /api/v1/platform/status");
  const status = useGet("/api/v1/platform/status", {}, { everyMs: 10_000, enabled: why === null });
  const short = useShortTime();
  const { data } = status;
  const needs = data ? platformNeeds(data) : [];
  return (
    <>
      <PageTitle
        title="Operations"
        status={data ? <State of={data} needs={needs.length} /> : null}
        sub={data ? `Version ${data.version} · as of ${short(new Date(status.dataUpdatedAt))}` : null}
      />
      {why === null ? null : <NotAllowed why={why} />}
      {status.error ? <FailureState failure={status.error.failure} onRetry={() => void status.refetch()} /> : null}
      {why === null && status.isPending ? <Loading what="Loading the platform's state" /> : null}
      {data ? (
        <>
          <Needs of={needs} />
          <Services of={data} />
        </>
      ) : null}
    </>
  );
}

/** How the platform is: it may serve, and still need a look. */
function State({ of: { services }, needs }: { of: Platform; needs: number }) {
  if (services.some(({ status }) => status !== "ok")) return <Status of="degraded" />;
  return needs > 0 ? <Status of="needs a look" tone="warn" /> : <Status of="ok" />;
}

/** What needs a look, the worst first; nothing while all is well. */
const Needs = ({ of: needs }: { of: readonly PlatformNeed[] }) =>
  needs.length > 0 ? (
    <NeedsList label="What needs attention">
      {needs.map(({ tone, title, text, page }) => (
        <NeedRow key={title} tone={tone} icon={tone === "bad" ? CircleAlert : TriangleAlert}>
          <p>
            <b>{title}</b> <span className="soft">{text}</span>
          </p>
          {page ? (
            <NeedStep address={page} title={title}>
              Webhooks
            </NeedStep>
          ) : null}
        </NeedRow>
      ))}
    </NeedsList>
  ) : null;

/** A row for each service, what is as usual in soft letters; its version only where it is not the gateway's. */
function Services({ of: { services, version: usual } }: { of: Platform }) {
  const shared = sharedChecks(services);
  return (
    <Section title="Services">
      <PlainTable
        columns={["Service", "State", "Dependencies", "To be published", "Deliveries", "Dead letters", "Jobs"]}
      >
        {services.map(({ service, status: state, version, checks, outbox, deliveries, deadLetters, openJobs }) => (
          <tr key={service}>
            <th scope="row">
              {service}
              {version === null || version === usual ? null : <span className="soft"> {version}</span>}
            </th>
            <td>
              <Status of={state} />
            </td>
            <td>
              <Dependencies of={checks} shared={shared} />
            </td>
            <td>{outbox ? <Waiting count={outbox.waiting} oldestSeconds={outbox.oldestSeconds} /> : unknown}</td>
            <td>
              {deliveries ? (
                <Link {...to("/webhooks", {})}>
                  <Waiting count={deliveries.due} oldestSeconds={deliveries.oldestDueSeconds} />
                </Link>
              ) : null}
            </td>
            <td>{deadLetters === null ? unknown : <Count of={deadLetters} tone="bad" />}</td>
            <td>{openJobs === null ? unknown : <Count of={openJobs} />}</td>
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}

const unknown = <span className="soft">unknown</span>;

/** How many wait, marked once the oldest has waited long. */
const Waiting = ({ count, oldestSeconds }: { count: number; oldestSeconds: number }) => (
  <span className={count === 0 ? "soft" : waitsLong(oldestSeconds) ? "warn" : undefined}>
    {waitingWords(count, oldestSeconds)}
  </span>
);

/** A number that is usually none. */
const Count = ({ of: count, tone }: { of: number; tone?: "bad" }) => (
  <span className={`number ${count === 0 ? "soft" : (tone ?? "")}`}>{count.toLocaleString()}</span>
);

type DependenciesProps = { of: Readonly<Record<string, string>>; shared: readonly string[] };

/** The dependencies of a service that miss something: those that miss it everywhere are said above the table. */
function Dependencies({ of: checks, shared }: DependenciesProps) {
  if (Object.keys(checks).length === 0) return unknown;
  const own = Object.entries(checks).filter(([name, found]) => !isFine(found) && !shared.includes(name));
  const usual = shared.length > 0 ? `all but ${shared.map(checkName).join(", ")}` : own.length === 0 ? "all ok" : null;
  return (
    <>
      {usual ? <span className="soft">{usual}</span> : null}
      {own.map(([name, found]) => (
        <span key={name} data-tip={found}>
          {" "}
          <Status of={checkName(name)} tone="warn" />
        </span>
      ))}
    </>
  );
}
