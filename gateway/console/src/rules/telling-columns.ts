type Column<Row> = { as?: string; cell(row: Row): unknown; isUsual?(row: Row): boolean };

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

function saysTheSame<Row>({ isUsual }: Column<Row>, rows: readonly Row[]): boolean {
  return isUsual !== undefined && rows.length > 0 && rows.every((row) => isUsual(row));
}
