import { Link } from "@tanstack/react-router";
import { useGet } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { to, toRecord } from "../../parts/links.ts";
import { share } from "../../parts/share.ts";
import { FailureState, Loading } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { rolloutHealth } from "../../rules/rollout-health.ts";
import { worstFirst } from "../../rules/tone.ts";
import styles from "./overview.module.css";

/** Rollouts that are not over yet: how many devices are done, and how many failed. */
export function RunningRollouts() {
  const { data, error, refetch } = useGet(
    "/api/v1/agent-versions/rollouts",
    { params: { query: { limit: "20", skipCount: "true" } } },
    { everyMs: 120_000 },
  );
  const going = (data?.data ?? []).filter(
    ({ state, kind }) => state !== "completed" && state !== "cancelled" && kind === "staged",
  );
  const running = worstFirst(going, (each) => rolloutHealth(each).tone).slice(0, 5);
  return (
    <Section title="Rollouts" action={<Link {...to("/releases/rollouts")}>All rollouts</Link>}>
      {error ? <FailureState failure={error.failure} onRetry={() => void refetch()} /> : null}
      {!data && !error ? <Loading what="Loading rollouts" /> : null}
      {data && running.length === 0 ? <p className="soft">No rollout is in progress.</p> : null}
      <ul className={styles.bars}>
        {running.map((rollout) => {
          const { id, component, version, succeeded, failed, inFlight } = rollout;
          const { word, tone } = rolloutHealth(rollout);
          const all = succeeded + failed + inFlight;
          return (
            <li key={id}>
              <Link {...toRecord("/releases/rollouts/$id", { id })}>
                {component} {version}
              </Link>
              <span className={styles.bar} aria-hidden>
                <i data-tone="good" style={share(succeeded, all)} />
                <i data-tone="bad" style={share(failed, all)} />
              </span>
              <small className="number">
                {word === "running" ? null : <Status of={word} tone={tone} />}
                <span>
                  {succeeded.toLocaleString()} done
                  {failed > 0
                    ? `, ${failed.toLocaleString()} failed${rollout.haltedParts.length > 0 ? " in all" : ""}`
                    : ""}
                </span>
              </small>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}
