type Usual<Row> = { isUsual?(row: Row): boolean; isQuiet?(row: Row): boolean };
type Column<Row> = Usual<Row> & { as?: string; cell(row: Row): unknown };

/**
 * The columns that say something of these rows: without those of causes and next steps while no row has one, and,
 * unless the user chose them, without those that say the same harmless thing in every row.
 */
export const tellingColumns = <Row, C extends Column<Row>>(
  columns: readonly C[],
  rows: readonly Row[],
  isChosen: boolean,
): C[] =>
  columns.filter((column) =>
    column.as === "cause" || column.as === "next"
      ? rows.some((row) => column.cell(row) !== null)
      : isChosen || !saysTheSame(column, rows),
  );

/** Whether a row's value in a column is the expected one, which is shown in soft letters beside those that are not. */
export const isQuiet = <Row>({ isUsual, isQuiet: isExpected }: Usual<Row>, row: Row): boolean =>
  isUsual?.(row) === true || isExpected?.(row) === true;

function saysTheSame<Row>({ isUsual }: Usual<Row>, rows: readonly Row[]): boolean {
  return isUsual !== undefined && rows.length > 0 && rows.every((row) => isUsual(row));
}
