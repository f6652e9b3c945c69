import { lazy, type ReactNode, Suspense, useState } from "react";

const OpenPopover = lazy(() => import("./popover-popup.tsx"));

type PopoverProps = {
  /** The button's content, and its name for screen readers where that is none. */
  button: ReactNode;
  label: string;
  weight?: "quiet";
  /** What it shows. */
  children: ReactNode;
};

/** A button with a small panel for what is chosen beside the work. Its behaviour is loaded at first use. */
export function Popover({ button, label, weight, children }: PopoverProps) {
  const [isWanted, want] = useState(false);
  const closed = (
    <button type="button" data-weight={weight} aria-haspopup="dialog" onClick={() => want(true)}>
      {button}
    </button>
  );
  if (!isWanted) return closed;
  return (
    <Suspense fallback={closed}>
      <OpenPopover label={label} button={button} {...(weight ? { weight } : {})}>
        {children}
      </OpenPopover>
    </Suspense>
  );
}
