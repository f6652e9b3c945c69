import type { CSSProperties, ReactNode } from "react";
import type { BodyOf } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { NameOf } from "../../parts/name-of.tsx";
import { share } from "../../parts/share.ts";
import { Time } from "../../parts/time.tsx";
import { counted } from "../../rules/counted.ts";
import { haltingFailures, haltSentence, limitBar } from "../../rules/halting-failures.ts";
import { inFlightWords, limitWords } from "../../rules/rollout-words.ts";
import {
  type Limit,
  limitOf,
  limitsByWave,
  limitTone,
  nextWaveWords,
  type Wave,
  waveWords,
} from "../../rules/waves.ts";
import styles from "./rollout.module.css";

type Rollout = BodyOf<"/api/v1/agent-versions/rollouts/{id}/progress">["rollout"];

/** How far a bar is filled, and where its limit is. */
function limitStyle(of: Parameters<typeof limitBar>[0]): CSSProperties {
  const { filled, mark } = limitBar(of);
  return { "--share": `${filled}%`, "--mark": `${mark}%` } as CSSProperties;
}

type WavesProps = { waves: readonly Wave[]; rollout: Rollout; expectedEnd: string | null };

/** The waves in their order: which are open, how far each is, and what the next one waits for. */
export const Waves = ({ waves, rollout, expectedEnd }: WavesProps) => (
  <Section title="Waves" action={<p>{nextWaveWords(rollout, waves)}</p>}>
    <ol className={styles.waves}>
      {waves.map((wave, at) => (
        <li key={wave.name}>
          <span>
            <b>
              {at + 1} {wave.name}
            </b>{" "}
            {wave.devices === null ? null : <span className="soft number">{counted(wave.devices, "devices")}</span>}
          </span>
          <WaveTrack of={wave} />
          <span className="soft">{waveWords(wave, at)}</span>
        </li>
      ))}
    </ol>
    {inFlightWords(rollout) ? (
      <p className="soft">
        {inFlightWords(rollout)}
        {expectedEnd && new Date(expectedEnd).getTime() > Date.now() ? (
          <>
            {" "}
            Expected end: <Time at={expectedEnd} />
          </>
        ) : null}
      </p>
    ) : null}
  </Section>
);

/** Done, failed and in progress of a wave's devices; of those that were offered it, where nothing has counted them. */
function WaveTrack({ of: { devices, succeeded, failed, inFlight } }: { of: Wave }) {
  const all = devices ?? succeeded + failed + inFlight;
  return (
    <span className={styles.track} aria-hidden>
      <i data-tone="good" style={share(succeeded, all)} />
      <i data-tone="bad" style={share(failed, all)} />
      <i data-tone="run" style={share(inFlight, all)} />
    </span>
  );
}

type FailureBarsProps = { rollout: Rollout; waves: readonly Wave[] };

/** Failures by what they concern, each against the limit for as many as have answered. */
export function FailureBars({ rollout, waves }: FailureBarsProps) {
  const parts = rollout.haltedParts.map(({ platform, orgId, failed, succeeded }) => {
    const ended = failed + succeeded;
    const limit = haltingFailures(rollout, ended);
    return { key: `part ${platform ?? orgId}`, name: platform ?? nameOf(orgId), failed, ended, limit };
  });
  const all = limitOf(rollout);
  // A wave that alone has answered is all devices.
  const byWave = limitsByWave(rollout, waves).filter(({ ended }) => ended < all.ended);
  const rows: (Limit & { key: string; name: ReactNode })[] = [
    { key: "all", name: "All devices", ...all },
    ...byWave.map((wave) => ({ key: `wave ${wave.name}`, ...wave })),
    ...parts,
  ];
  return (
    <Section title="Failures against the limit">
      <ul className={styles.limits}>
        {rows.map(({ key, name, ...limit }) => (
          <li key={key}>
            <span>{name}</span>
            <span className={styles.limit} style={limitStyle(limit)} aria-hidden>
              <i data-tone={limitTone(limit)} />
            </span>
            <span className={limit.failed < limit.limit ? "soft number" : "bad number"}>{limitWords(limit)}</span>
          </li>
        ))}
      </ul>
      <p className="soft">
        {haltSentence(rollout)}
        {rollout.failuresBeforeResume > 0
          ? ` ${counted(rollout.failuresBeforeResume, "earlier failures")} no longer count.`
          : null}
      </p>
    </Section>
  );
}

const nameOf = (orgId: string | null) => (orgId ? <NameOf id={orgId} /> : "A part");
