import { instantWords, sentenceParts } from "../rules/api-sentence.ts";
import { useExactTime, useNow, useShortTime } from "./time.tsx";

/** A sentence of the API, its instants by how far they are, each with the exact one as a tooltip. */
export function Sentence({ of }: { of: string }) {
  const now = useNow(30_000);
  const [exact, short] = [useExactTime(), useShortTime()];
  return sentenceParts(of).map((part) =>
    typeof part === "string" ? (
      part
    ) : (
      <time key={part.at.getTime()} dateTime={part.at.toISOString()} data-tip={exact(part.at)}>
        {instantWords(part, now, (at) => short(at, "toMinute"))}
      </time>
    ),
  );
}
