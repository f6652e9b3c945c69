import type { Column } from "./column.ts";
import { Status } from "./status.tsx";

/** The status of records that are active unless somebody has changed that. */
export const statusColumn = <R extends { status: string }>(): Column<R> => ({
  id: "status",
  title: "Status",
  width: "9.5rem",
  as: "state",
  isUsual: ({ status }) => status === "active",
  cell: ({ status }) => <Status of={status} />,
});
