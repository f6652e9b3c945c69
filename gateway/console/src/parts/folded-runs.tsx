import { ChevronDown, ChevronRight } from "lucide-react";
import { Fragment, type ReactNode, useState } from "react";
import { runsOf } from "../rules/runs.ts";

type FoldedRunsProps<R> = {
  rows: readonly R[];
  /** Whether there are older ones. */
  hasMore: boolean;
  /** What a row says, as far as it counts; null for one that never stands for others. */
  textOf(row: R): string | null;
  /** A row as a line of a table, with the button of those that it stands for, to be beside its name. */
  lineOf(row: R, more: ReactNode): ReactNode;
};

/** From so many rows on that say the same after one another, the first stands for them. */
const leastFolded = 3;

/** Lines of a table, those that say the same after one another as one, which shows the others on request. */
export function FoldedRuns<R extends { id: string }>({ rows, hasMore, textOf, lineOf }: FoldedRunsProps<R>) {
  const [opened, setOpened] = useState<readonly string[]>([]);
  return runsOf(rows, (row) => textOf(row) ?? row.id).flatMap(({ first, rest, text, count }, at, runs) => {
    const isFolded = count >= leastFolded;
    const isOpen = opened.includes(text);
    const others = opened.filter((each) => each !== text);
    const more = isFolded ? (
      <MoreAlike
        count={rest.length}
        isAll={!hasMore || at < runs.length - 1}
        isOpen={isOpen}
        toggle={() => setOpened(isOpen ? others : [...others, text])}
      />
    ) : null;
    return [first, ...(isFolded && !isOpen ? [] : rest)].map((row) => (
      <Fragment key={row.id}>{lineOf(row, row === first ? more : null)}</Fragment>
    ));
  });
}

type MoreAlikeProps = { count: number; isAll: boolean; isOpen: boolean; toggle(): void };

/** How many rows a row stands for besides itself, or at least how many; shows them, or hides them again. */
function MoreAlike({ count, isAll, isOpen, toggle }: MoreAlikeProps) {
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <button type="button" className="soft" data-weight="link" aria-expanded={isOpen} onClick={toggle}>
      and {isAll ? "" : "at least "}
      {count.toLocaleString()} more <Chevron size={14} aria-hidden />
    </button>
  );
}
