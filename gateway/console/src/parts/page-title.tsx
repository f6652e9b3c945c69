import { type ReactNode, useEffect, useRef } from "react";
import { Status } from "./status.tsx";

let isFirstPage = true;

/**
 * The one h1 of a page, with the state of the record that it is about. It gets the focus after a navigation, so that
 * the new page is read from its beginning.
 */
export function PageTitle({ title, status, after }: { title: string; status?: string; after?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Muster`;
  }, [title]);
  useEffect(() => {
    if (!isFirstPage) heading.current?.focus();
    isFirstPage = false;
  }, []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {title}
      {status === undefined ? null : (
        <small>
          {" "}
          <Status of={status} />
        </small>
      )}
      {after}
    </h1>
  );
}
