import { CircleAlert } from "lucide-react";
import { PageTitle } from "../parts/page-title.tsx";
import { EmptyState } from "../parts/states.tsx";

/**
 * Shown for a failure of ours, or when a file of an older version no longer exists: a reload brings the newest version.
 */
export function PageCrash({ error }: { error: unknown }) {
  return (
    <div role="alert">
      <PageTitle title="This page failed" />
      <EmptyState title="Muster may have been updated meanwhile. Nothing that you saved is lost." icon={CircleAlert}>
        <button type="button" data-weight="primary" onClick={() => location.reload()}>
          Load it again
        </button>
        <p>{error instanceof Error ? error.message : ""}</p>
      </EmptyState>
    </div>
  );
}
