import { type BodyOf, useGet } from "../../api/queries.ts";
import { useWhyNot } from "../../parts/me.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { FailureState, Loading, NotAllowed } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { useFilters } from "../../parts/use-filters.ts";
import { type Initial, RolloutForm } from "./rollout-form.tsx";

type Template = BodyOf<"/api/v1/agent-versions/rollout-templates/{id}">;
type Rollout = BodyOf<"/api/v1/agent-versions/rollouts/{id}">;

/** Starts a rollout: from a template, or to roll another one back. */
export function NewRollout() {
  const why = useWhyNot("POST /api/v1/agent-versions/rollouts");
  const [{ component = "agent", version, templateId = "", backFrom = "" }] = useFilters();
  const enabled = why === null;
  const template = useGet(
    "/api/v1/agent-versions/rollout-templates/{id}",
    { params: { path: { id: templateId } } },
    { enabled: enabled && templateId !== "" },
  );
  const before = useGet(
    "/api/v1/agent-versions/rollouts/{id}",
    { params: { path: { id: backFrom } } },
    { enabled: enabled && backFrom !== "" },
  );
  const failed = [template, before].find(({ error }) => error !== null);
  const isLoading = [template, before].some(({ isLoading: isFirst }) => isFirst);
  const title = backFrom ? "Roll back" : "New rollout";
  return (
    <>
      <PageTitle
        title={title}
        sub={backFrom ? "Devices that run the newer version go back to an older one, wave by wave." : null}
      />
      <Tabs section="releases" label="Pages about releases" />
      {why !== null ? <NotAllowed why={why} /> : null}
      {failed?.error ? <FailureState failure={failed.error.failure} onRetry={() => void failed.refetch()} /> : null}
      {isLoading ? <Loading what="Loading what it begins with" /> : null}
      {enabled && !failed?.error && !isLoading ? (
        <RolloutForm
          key={`${templateId} ${backFrom}`}
          initial={{ component, version: backFrom ? undefined : version, ...from(template.data, before.data) }}
        />
      ) : null}
    </>
  );
}

/** What the form begins with: the template's rings and limits, or those of the rollout that is taken back. */
function from(template: Template | undefined, before: Rollout | undefined): Omit<Initial, "component"> {
  if (before) {
    const { component, version, rings, maxInFlight, haltAfterFailures, haltPercent, soakSeconds } = before;
    const limits = { openRings: rings.length, maxInFlight, haltAfterFailures, haltPercent, soakSeconds };
    return { ...{ component }, isBack: true, newer: version, rings, limits };
  }
  return template
    ? { template: { id: template.id, name: template.name }, rings: template.rings, limits: template }
    : {};
}
