import { withInstants } from "../rules/api-sentence.ts";
import type { Column } from "./column.ts";
import { Sentence } from "./sentence.tsx";
import { useExactTime } from "./time.tsx";

/** Why something fails, as one sentence of the API. */
export function Cause({ of }: { of: string }) {
  const exact = useExactTime();
  return (
    <span className="bad" data-tip={withInstants(of, exact)}>
      <Sentence of={of} />
    </span>
  );
}

/** The column with why a row fails, which a list has while one of its rows does; null for one that does not. */
export const causeColumn = <Row,>(causeOf: (row: Row) => string | null): Column<Row> => ({
  id: "why",
  title: "Problem",
  as: "cause",
  cell: (row) => {
    const cause = causeOf(row);
    return cause ? <Cause of={cause} /> : null;
  },
});
