import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { useGet, useList } from "../api/queries.ts";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { FailureState, Loading } from "../parts/states.tsx";
import { useFilters } from "../parts/use-filters.ts";
import { useSettled } from "../parts/use-settled.ts";
import styles from "./shell.module.css";

/**
 * Which organization the lists show: a filter of the address that stays while navigating, so that two tabs may show
 * two.
 */
export function OrganizationPicker() {
  const [{ orgId }, change] = useFilters();
  const [isOpen, setOpen] = useState(false);
  const chosen = useGet(
    "/api/v1/orgs/organizations/{id}",
    { params: { path: { id: orgId ?? "" } } },
    { enabled: !!orgId },
  );
  const name = orgId ? (chosen.data?.name ?? "…") : "All organizations";
  return (
    <>
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {name} <ChevronDown size={16} aria-hidden />
      </button>
      {isOpen ? (
        <Choose
          onChoose={(id) => {
            change({ orgId: id, siteId: undefined, groupId: undefined });
            setOpen(false);
          }}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  );
}

function Choose({ onChoose, onClose }: { onChoose(id: string | undefined): void; onClose(): void }) {
  const [text, setText] = useState("");
  const search = useSettled(text.trim());
  const list = useList("/api/v1/orgs/organizations", { params: { query: { search } } });
  return (
    <Dialog title="Choose an organization" onClose={onClose}>
      <label>
        Name or slug
        <input type="search" value={text} autoFocus maxLength={255} onChange={(event) => setText(event.target.value)} />
      </label>
      {list.failure ? <FailureState failure={list.failure} onRetry={() => void list.refresh()} /> : null}
      {list.isLoading ? <Loading /> : null}
      <ul className={styles.list}>
        <li>
          <button type="button" onClick={() => onChoose(undefined)}>
            All organizations
          </button>
        </li>
        {list.rows.map(({ id, name }) => (
          <li key={id}>
            <button type="button" onClick={() => onChoose(id)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
      <DialogActions>
        {list.hasMore ? (
          <button type="button" disabled={list.isLoadingMore} onClick={() => void list.loadMore()}>
            Load more
          </button>
        ) : null}
        <button type="button" onClick={onClose}>
          Cancel
        </button>
      </DialogActions>
    </Dialog>
  );
}
