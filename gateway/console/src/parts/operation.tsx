import type { ReactNode } from "react";
import { useWhyNot } from "../api/me.tsx";

/** A button for an operation; whoever may not use it reads why. */
export function Operation({ name, onClick, children }: { name: string; onClick(): void; children: ReactNode }) {
  const why = useWhyNot(name);
  return (
    <button
      type="button"
      aria-disabled={why !== null}
      title={why ?? undefined}
      onClick={() => {
        if (why === null) onClick();
      }}
    >
      {children}
      {why ? <span className="visually-hidden"> ({why})</span> : null}
    </button>
  );
}
