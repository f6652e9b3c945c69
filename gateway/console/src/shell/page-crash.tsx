import { PageTitle } from "../parts/page-title.tsx";

/**
 * Shown for a failure of ours, or when a file of an older version no longer exists: a reload brings the newest version.
 */
export function PageCrash({ error }: { error: unknown }) {
  return (
    <div role="alert">
      <PageTitle title="This page failed" />
      <p>Muster may have been updated meanwhile. Nothing that you saved is lost.</p>
      <p>
        <button type="button" data-weight="primary" onClick={() => location.reload()}>
          Load it again
        </button>
      </p>
      <p className="soft">{error instanceof Error ? error.message : ""}</p>
    </div>
  );
}
