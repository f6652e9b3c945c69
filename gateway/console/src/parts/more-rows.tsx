import type { ReactNode } from "react";

type Paged = { hasMore: boolean; isLoadingMore: boolean; loadMore(): Promise<unknown> };

/** The button below a list that reads its next page, with what that holds as its text; nothing after the last one. */
export function MoreRows({ of: list, children }: { of: Paged; children: ReactNode }) {
  if (!list.hasMore) return null;
  return (
    <div>
      <button type="button" disabled={list.isLoadingMore} onClick={() => void list.loadMore()}>
        {list.isLoadingMore ? "Loading …" : children}
      </button>
    </div>
  );
}
