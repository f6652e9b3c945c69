/** By a column's id, in pixels. */
export type ColumnWidths = Readonly<Record<string, number>>;

/** Ids of a list's columns in the user's order, the hidden ones, and how wide they are. */
export type ColumnChoice = { order: readonly string[]; hidden: readonly string[]; widths: ColumnWidths };

export const usualColumns: ColumnChoice = { order: [], hidden: [], widths: {} };
export const [narrowest, widest] = [64, 1_200];

/** A width within what can be read and what fits a screen. */
export const widthWithin = (px: number) => Math.round(Math.min(widest, Math.max(narrowest, px)));

/** Whether other columns are shown than usual, or in another order. */
export const areChosen = (choice: ColumnChoice | null): choice is ColumnChoice =>
  choice !== null && choice.order.length + choice.hidden.length > 0;

/** What a column without a width of its own has at least. */
const leastOfRest = "10rem";

/** The CSS width below which a table would leave nothing for its columns without a width, such as the rows' links. */
export const leastWidth = (columns: readonly { id: string; width?: string }[], widths: ColumnWidths): string =>
  `calc(${columns.map(({ id, width }) => (id in widths ? `${widths[id]}px` : (width ?? leastOfRest))).join(" + ")})`;

type Column = { id: string };

/**
 * The columns to show. A new column, which the choice does not have, keeps its position from the right; columns that
 * no longer exist are skipped. The first column always shows: it has the row's link.
 */
export function chosenColumns<C extends Column>(columns: readonly C[], choice: ColumnChoice | null): C[] {
  return orderedColumns(columns, choice).filter(({ id }, at) => at === 0 || !choice?.hidden.includes(id));
}

/** All columns in the chosen order. */
export function orderedColumns<C extends Column>(columns: readonly C[], choice: ColumnChoice | null): C[] {
  const [first, ...others] = columns;
  if (first === undefined) return [];
  const position = (id: string) => {
    const at = choice?.order.indexOf(id) ?? -1;
    return at < 0 ? columns.findIndex((column) => column.id === id) : at;
  };
  return [first, ...others.sort((a, b) => position(a.id) - position(b.id))];
}

/** The choice after a column was moved by one position; the first one and the ends stay. */
export function moved(columns: readonly Column[], choice: ColumnChoice | null, id: string, by: 1 | -1): ColumnChoice {
  const order = orderedColumns(columns, choice).map((column) => column.id);
  const [at, to] = [order.indexOf(id), order.indexOf(id) + by];
  const other = order[to];
  if (at > 0 && to > 0 && other !== undefined) {
    order[to] = id;
    order[at] = other;
  }
  return { ...(choice ?? usualColumns), order };
}

/** A stored choice; null for anything else. */
export function choiceOf(text: string | null): ColumnChoice | null {
  if (text === null) return null;
  try {
    const { order, hidden, widths = {} } = JSON.parse(text) as Partial<ColumnChoice>;
    const areTexts = (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === "string");
    if (!order || !hidden || !areTexts(order) || !areTexts(hidden)) return null;
    const valid = Object.entries(widths).filter(([, px]) => typeof px === "number" && widthWithin(px) === px);
    return { order, hidden, widths: Object.fromEntries(valid) };
  } catch {
    return null;
  }
}
