import { Check } from "lucide-react";
import type { ReactNode } from "react";
import styles from "./facts.module.css";
import { Section } from "./facts.tsx";

/** What is done one after another, each part a card with its number. */
export const Steps = ({ children }: { children: ReactNode }) => <ol className={styles.steps}>{children}</ol>;

type State = "done" | "current" | "later";
type StepProps = { number: number; title: string; state: State; action?: ReactNode; children: ReactNode };

const tones: Readonly<Record<State, string>> = { done: "good", current: "run", later: "off" };

/** How the step at an index is while another one is current. */
export const stepState = (index: number, current: number): State =>
  index === current ? "current" : index < current ? "done" : "later";

/** The number of a step, a mark once it is done; inside of what is `aria-current="step"` it is filled. */
export const StepNumber = ({ of: number, state }: { of: number; state: State }) => (
  <span className={styles.number} data-tone={tones[state]} aria-hidden>
    {state === "done" ? <Check size={14} strokeWidth={2.5} /> : number}
  </span>
);

/** One of the steps; what comes later can be read before. */
export const Step = ({ number, title, state, action, children }: StepProps) => (
  <li aria-current={state === "current" ? "step" : undefined}>
    <Section
      title={
        <>
          <StepNumber of={number} state={state} />
          {title}
        </>
      }
      action={action}
    >
      {children}
    </Section>
  </li>
);
