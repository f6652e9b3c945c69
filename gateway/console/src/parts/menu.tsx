import { Ellipsis } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { MenuItem } from "./menu-popup.tsx";

const OpenMenu = lazy(() => import("./menu-popup.tsx"));

type MenuProps = {
  /** Name of the button, for screen readers. */
  label: string;
  items: readonly MenuItem[];
  children?: ReactNode;
};

/** A button with what is used more rarely. Its behaviour is loaded when it is first opened. */
export function Menu({ label, items, children }: MenuProps) {
  const [isWanted, want] = useState(false);
  const button = (
    <button type="button" data-size="icon" aria-label={label} aria-haspopup="menu" onClick={() => want(true)}>
      {children ?? <Ellipsis size={15} aria-hidden />}
    </button>
  );
  if (!isWanted) return button;
  return (
    <Suspense fallback={button}>
      <OpenMenu label={label} items={items}>
        {children ?? <Ellipsis size={15} aria-hidden />}
      </OpenMenu>
    </Suspense>
  );
}
