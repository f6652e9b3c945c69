import { CircleCheck, CircleDashed } from "lucide-react";
import { type BodyOf, useList } from "../../api/queries.ts";
import { Section } from "../../parts/facts.tsx";
import { useNow } from "../../parts/time.tsx";
import { stepsBeforeActive } from "../../rules/before-active.ts";
import styles from "./activation-steps.module.css";

/** What of a provider that is tested is still to be done before it is activated, and what is. */
export function ActivationSteps({ of: provider }: { of: BodyOf<"/api/v1/sso/providers/{id}"> }) {
  const now = useNow(60_000);
  const params = { path: { id: provider.id } };
  const attempts = useList("/api/v1/sso/providers/{id}/attempts", { params }, { everyMs: 10_000 });
  const steps = stepsBeforeActive(
    provider,
    attempts.rows.map(({ outcome }) => outcome),
    now,
  );
  const left = steps.filter(({ isDone }) => !isDone).length;
  return (
    <Section
      title="Before it is activated"
      action={<p>{left === 0 ? "nothing is left" : `${left} of ${steps.length} left`}</p>}
    >
      <ul className={styles.steps}>
        {steps.map(({ name, isDone, todo }) => (
          <li key={name} data-is-done={isDone}>
            {isDone ? <CircleCheck size={16} aria-hidden /> : <CircleDashed size={16} aria-hidden />}
            <p>
              <b>{name}</b> <span className="soft">{isDone ? "is there." : todo}</span>
            </p>
          </li>
        ))}
      </ul>
    </Section>
  );
}
