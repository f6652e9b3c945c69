import { Status } from "../../parts/status.tsx";
import { rolloutHealth } from "../../rules/rollout-health.ts";

type RolloutStatusProps = { of: Parameters<typeof rolloutHealth>[0] };

/** How a rollout is, in a word. */
export function RolloutStatus({ of }: RolloutStatusProps) {
  const { word, tone } = rolloutHealth(of);
  return <Status of={word} tone={tone} />;
}
