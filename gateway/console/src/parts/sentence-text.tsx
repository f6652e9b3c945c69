import { instantWords, sentenceParts } from "../rules/api-sentence.ts";

type SentenceTextProps = { of: string; now: Date; exact(at: Date): string; short(at: Date): string };

/** A sentence of the API, its instants by how far they are from `now`, each with the exact one as a tooltip. */
export const SentenceText = ({ of, now, exact, short }: SentenceTextProps) =>
  sentenceParts(of).map((part) =>
    typeof part === "string" ? (
      part
    ) : (
      <time key={part.at.getTime()} dateTime={part.at.toISOString()} data-tip={exact(part.at)}>
        {instantWords(part, now, short)}
      </time>
    ),
  );
