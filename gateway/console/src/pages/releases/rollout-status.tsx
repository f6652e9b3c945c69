import { Status } from "../../parts/status.tsx";

type RolloutStatusProps = { of: { state: string; haltedParts: readonly unknown[] } };

/** The state of a rollout; one of which a part is halted does not only run. */
export const RolloutStatus = ({ of: { state, haltedParts } }: RolloutStatusProps) =>
  state === "running" && haltedParts.length > 0 ? <Status of="halted in part" tone="bad" /> : <Status of={state} />;
