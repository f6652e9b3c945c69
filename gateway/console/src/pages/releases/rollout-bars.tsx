import type { CSSProperties } from "react";
import type { BodyOf } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import type { limitOf, Wave } from "../../rules/waves.ts";
import styles from "./rollout.module.css";

type Rollout = BodyOf<"/api/v1/agent-versions/rollouts/{id}/progress">["rollout"];

const share = (part: number, all: number) => ({ "--share": `${(part / Math.max(1, all)) * 100}%` }) as CSSProperties;

/** The waves in their order: which are open, and what the next one waits for. */
export const Waves = ({
  waves,
  counts,
  successPercent,
}: {
  waves: readonly Wave[];
  /** Devices of each wave; empty while that is not known. */
  counts: readonly number[];
  successPercent: number | null;
}) => (
  <Section
    title="Waves"
    {...(successPercent === null ? {} : { action: <p>the next opens by itself at {successPercent} % success</p> })}
  >
    <ol className={styles.waves}>
      {waves.map(({ name, state, isNewest, ended }, at) => (
        <li key={name}>
          <span>
            <b>
              {at + 1} {name}
            </b>
            {counts[at] === undefined ? null : (
              <div className="soft number">
                {counts[at].toLocaleString()} {counts[at] === 1 ? "device" : "devices"}
              </div>
            )}
          </span>
          <span className={styles.track} aria-hidden>
            {ended && counts[at] !== undefined ? (
              <>
                <i data-tone="good" style={share(ended.succeeded, counts[at])} />
                <i data-tone="bad" style={share(ended.failed, counts[at])} />
              </>
            ) : (
              <i data-tone={isNewest ? "run" : "good"} style={share(state === "open" ? 1 : 0, 1)} />
            )}
          </span>
          <span className="soft">{waveWords(at, state, isNewest, ended)}</span>
        </li>
      ))}
    </ol>
  </Section>
);

function waveWords(at: number, state: Wave["state"], isNewest: boolean, ended: Wave["ended"]): string {
  if (state === "waits") return `waits for wave ${at}`;
  if (!ended) return isNewest ? "open now" : "open";
  const { succeeded, failed } = ended;
  return `${succeeded.toLocaleString()} done${failed > 0 ? `, ${failed.toLocaleString()} failed` : ""}`;
}

/** Failures by what they concern, each against its limit; the line is the limit for as many as have answered. */
export function FailureBars({ rollout, limit: all }: { rollout: Rollout; limit: ReturnType<typeof limitOf> }) {
  const parts = rollout.haltedParts.map(({ platform, failed, succeeded }) => ({
    name: platform ?? "one customer",
    failed,
    ended: failed + succeeded,
    limit: Math.max(1, Math.ceil(((failed + succeeded) * rollout.haltPercent) / 100)),
  }));
  const rows = [{ name: "All devices", ...all }, ...parts];
  return (
    <Section title="Failures against the limit">
      <ul className={styles.limits}>
        {rows.map(({ name, failed, ended, limit }) => {
          const scale = Math.max(limit * 3, failed, 1);
          return (
            <li key={name}>
              <span>{name}</span>
              <span className={styles.limit} aria-hidden>
                <i
                  data-tone={failed >= limit || (rollout.state === "halted" && failed > 0) ? "bad" : "good"}
                  style={share(failed, scale)}
                />
                <em style={share(limit, scale)} />
              </span>
              <span className="soft number">
                {failed.toLocaleString()} of {ended.toLocaleString()}
                <span className="visually-hidden">, limit {limit.toLocaleString()}</span>
              </span>
            </li>
          );
        })}
      </ul>
      <p className="soft">The line is the limit for as many as have answered.</p>
    </Section>
  );
}
