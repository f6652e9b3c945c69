import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { useWhyNot } from "./me.tsx";

type OperationProps = { name: string; isPrimary?: true; onClick(): void; children: ReactNode };

/** A button for an operation; users who may not use it see the reason. */
export function Operation({ name, isPrimary, onClick, children }: OperationProps) {
  const why = useWhyNot(name);
  return (
    <button
      type="button"
      data-weight={isPrimary ? "primary" : undefined}
      aria-disabled={why !== null}
      data-tip={why ?? undefined}
      onClick={() => {
        if (why === null) onClick();
      }}
    >
      {isPrimary ? <Plus size={15} aria-hidden /> : null}
      {children}
      {why ? <span className="visually-hidden"> ({why})</span> : null}
    </button>
  );
}
