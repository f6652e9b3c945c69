import type { CSSProperties, ReactNode } from "react";
import type { ColumnWidths } from "../rules/column-choice.ts";

export type Column<Row> = {
  id: string;
  title: string;
  cell(row: Row): ReactNode;
  /** CSS width; the widest takes the remaining width. */
  width?: string;
  /** On a phone, a value that needs the column's title beside it. */
  isMinor?: true;
  /** Left out on screens that are neither wide nor a phone's, unless the user chose the columns. */
  isExtra?: true;
  /**
   * Whether it says nothing worth a column in this row: the harmless value that most have. It is left out while that
   * holds of all rows, unless the user chose the columns.
   */
  isUsual?(row: Row): boolean;
  /** Whether a row has the value that is expected: it stays, in soft letters, so that the others stand out. */
  isQuiet?(row: Row): boolean;
  /** Aligned at the end of the cell: numbers and times. */
  isEnd?: true;
  /** What it is in the card that a row becomes on a phone; without it, a fact where it is minor, else plain. */
  as?: CardPart;
  /** It may have a second line, in small letters: its rows are as high as their texts. */
  hasNote?: true;
  /** The API's name for an order by this column. */
  sort?: string;
  /** The API knows this order in one direction alone. */
  isOneWay?: true;
  /** The API's names of what it shows, in an export. */
  exported?: readonly string[];
};

/**
 * Parts of a phone's card: beside the name `state`, `beside` and `menu`; in the second line `plain` and, at its end,
 * `end`; below the `cause` of a failure, what a state means, or a `bar`, as wide as the card; at last in small letters
 * `note`, and `fact` with its title, and at the card's end the `next` step. `none` is left to the record's page.
 */
type CardPart = "state" | "beside" | "menu" | "plain" | "end" | "cause" | "bar" | "note" | "fact" | "next" | "none";

/** The order in force, as the API names it, and another one; undefined is the list's own. */
export type Order = { inForce: string | undefined; change(sort: string | undefined): void };

/** The chosen widths, and how to change them; an empty record means the default widths. */
export type Sizing = { widths: ColumnWidths; change(widths: ColumnWidths): void };

/** Whether rows are as high as their texts. */
export const haveOwnHeights = (columns: readonly Pick<Column<never>, "as" | "hasNote">[]): boolean =>
  columns.some(({ as, hasNote }) => as === "cause" || hasNote);

/** As a custom property, which narrow screens do not use. */
export const styleOf = (
  name: "--column-width" | "--least-width",
  width: string | undefined,
): CSSProperties | undefined => (width ? Object.fromEntries([[name, width]]) : undefined);
