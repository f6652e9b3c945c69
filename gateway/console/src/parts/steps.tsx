import { Check } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./facts.module.css";
import { Section } from "./facts.tsx";

/** What is done one after another, each part a card with its number. */
export const Steps = ({ children }: { children: ReactNode }) => <ol className={styles.steps}>{children}</ol>;

type State = "done" | "current" | "later";
type StepProps = { number: number; title: string; state: State; action?: ReactNode; children: ReactNode };

const tones: Readonly<Record<State, string>> = { done: "good", current: "run", later: "off" };

/** One of the steps; what comes later can be read before. */
export const Step = ({ number, title, state, action, children }: StepProps) => (
  <li aria-current={state === "current" ? "step" : undefined}>
    <Section
      title={
        <>
          <span className={styles.number} data-tone={tones[state]} aria-hidden>
            {state === "done" ? <Check size={14} strokeWidth={2.5} /> : number}
          </span>
          {title}
        </>
      }
      action={action}
    >
      {children}
    </Section>
  </li>
);
