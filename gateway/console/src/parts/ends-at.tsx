import { endingTone } from "../rules/ending.ts";
import { Time, useNow } from "./time.tsx";

type EndsAtProps = { at: string | null; days: number };

/** When a key or certificate ends, in the colour of how urgent that is; `days` before it, it is to be replaced. */
export function EndsAt({ at, days }: EndsAtProps) {
  const now = useNow(60_000);
  if (at === null) return <span className="soft">never</span>;
  return (
    <span className={endingTone(at, now, days) ?? undefined}>
      <Time at={at} />
    </span>
  );
}
