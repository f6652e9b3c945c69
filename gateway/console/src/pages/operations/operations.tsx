import { CircleAlert, TriangleAlert } from "lucide-react";
import { type BodyOf, useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { to } from "../../parts/links.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { NeedRow, NeedStep, NeedsList } from "../../parts/notice.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import plain from "../../parts/plain-table.module.css";
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

const pageNames = { "/webhooks": "Webhooks", "/releases": "Releases" } as const;

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
            <NeedStep link={to(page, {})} title={title}>
              {pageNames[page]}
            </NeedStep>
          ) : null}
        </NeedRow>
      ))}
    </NeedsList>
  ) : null;

/** A row for each service, what is as usual in soft letters; its version only where it is not the gateway's. */
function Services({ of: { services, version: usual } }: { of: Platform }) {
  const shared = sharedChecks(services);
  const hasLetters = services.some(({ deadLetters }) => deadLetters !== 0);
  const hasJobs = services.some(({ openJobs }) => openJobs !== 0);
  const none = [...(hasLetters ? [] : ["no dead letters"]), ...(hasJobs ? [] : ["no open jobs"])];
  return (
    <Section title="Services" action={none.length > 0 ? <p>{none.join(", ")}</p> : null}>
      <PlainTable
        columns={["Service", "State", "Waiting", ...(hasLetters ? ["Dead letters"] : []), ...(hasJobs ? ["Jobs"] : [])]}
      >
        {services.map((each) => (
          <tr key={each.service}>
            <th scope="row">
              {each.service}
              {each.version === null || each.version === usual ? null : <span className="soft"> {each.version}</span>}
            </th>
            <td>
              <ServiceState of={each} shared={shared} />
            </td>
            <Waiting of={each} />
            {hasLetters ? <Count of={each.deadLetters} tone="bad" /> : null}
            {hasJobs ? <Count of={each.openJobs} /> : null}
          </tr>
        ))}
      </PlainTable>
    </Section>
  );
}

type Service = Platform["services"][number];

/** How a service is: one that serves and misses what others have, or sends too slowly, needs a look. */
function ServiceState({ of: service, shared }: { of: Service; shared: readonly string[] }) {
  const { status: state, checks } = service;
  const own = Object.entries(checks)
    .filter(([name, found]) => !isFine(found) && !shared.includes(name))
    .map(([name, found]) => `${checkName(name)}: ${found}`);
  const isSlow = waitingParts(service).some(({ seconds }) => waitsLong(seconds));
  if (state !== "ok" || (own.length === 0 && !isSlow)) return <Status of={state} />;
  return (
    <span data-tone="warn" data-tip={own.join("; ") || undefined}>
      <Status of="needs a look" tone="warn" />
    </span>
  );
}

const unknown = <span className="soft">unknown</span>;

/** What a service has still to send, of each kind that there is. */
const waitingParts = ({ outbox, deliveries }: Service) =>
  [
    ...(outbox ? [{ count: outbox.waiting, seconds: outbox.oldestSeconds, what: "messages" }] : []),
    ...(deliveries ? [{ count: deliveries.due, seconds: deliveries.oldestDueSeconds, what: "deliveries" }] : []),
  ].filter(({ count }) => count > 0);

/** It in words, marked once the oldest has waited long. */
function Waiting({ of: service }: { of: Service }) {
  const { outbox } = service;
  const parts = waitingParts(service);
  if (parts.length === 0) {
    return (
      <td className="soft" data-none={outbox !== null || undefined}>
        {outbox ? "nothing" : "unknown"}
      </td>
    );
  }
  return (
    <td className={parts.some(({ seconds }) => waitsLong(seconds)) ? "warn" : undefined}>
      {parts.map(({ count, seconds, what }) => waitingWords(count, seconds, what)).join("; ")}
    </td>
  );
}

/** A number that is usually none. */
const Count = ({ of: count, tone }: { of: number | null; tone?: "bad" }) => (
  <td className={plain.end} data-none={count === 0 || undefined}>
    {count === null ? unknown : <span className={count === 0 ? "soft" : (tone ?? "")}>{count.toLocaleString()}</span>}
  </td>
);
