import { SentenceText } from "./sentence-text.tsx";
import { useExactTime, useNow, useShortTime } from "./time.tsx";

/** A sentence of the API, its instants in the zone that the user chose. */
export function Sentence({ of }: { of: string }) {
  const now = useNow(30_000);
  const [exact, short] = [useExactTime(), useShortTime()];
  return <SentenceText of={of} now={now} exact={exact} short={(at) => short(at, "toMinute")} />;
}
