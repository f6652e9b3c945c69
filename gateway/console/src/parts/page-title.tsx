import { type ReactNode, useEffect, useRef } from "react";

let isFirstPage = true;

/** The one h1 of a page. It gets the focus after a navigation, so that the new page is read from its beginning. */
export function PageTitle({ title, after = null }: { title: string; after?: ReactNode }) {
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
      {after}
    </h1>
  );
}
