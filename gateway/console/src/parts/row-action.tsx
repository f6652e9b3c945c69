import type { ReactNode } from "react";

/** What can be done with one row of a list; `of` names the row for screen readers. */
export const RowAction = ({ of, onClick, children }: { of: string; onClick(): void; children: ReactNode }) => (
  <button type="button" data-weight="link" onClick={onClick}>
    {children}
    <span className="visually-hidden"> {of}</span>
  </button>
);
