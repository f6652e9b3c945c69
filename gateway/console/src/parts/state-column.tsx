import type { ReactNode } from "react";
import type { Tone } from "../rules/tone.ts";
import type { Column } from "./column.ts";
import { Status } from "./status.tsx";

type StateColumn<Row> = {
  title: string;
  stateOf(row: Row): { word: string; tone: Tone };
  /** Why it fails, what it waits for, or what it does; null where the word says it all. */
  noteOf(row: Row): ReactNode;
  /** Whether a row's note is left to wide screens. */
  isMinor?(row: Row): boolean;
  isUsual?(row: Row): boolean;
};

/** How a row is, in a word, and below it what that means. It takes the width that other columns leave. */
export const stateColumn = <Row,>({ title, stateOf, noteOf, isMinor, isUsual }: StateColumn<Row>): Column<Row> => ({
  id: "status",
  title,
  as: "state",
  hasNote: true,
  isQuiet: (row) => stateOf(row).tone === "good",
  ...(isUsual ? { isUsual } : {}),
  cell: (row) => {
    const { word, tone } = stateOf(row);
    const note = noteOf(row);
    return (
      <>
        <Status of={word} tone={tone} />
        {note ? <small data-minor={isMinor?.(row) || undefined}>{note}</small> : null}
      </>
    );
  },
});
