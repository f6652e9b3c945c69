import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { useGet, useList } from "../api/queries.ts";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { FailureState, Loading } from "../parts/states.tsx";
import { useFilters } from "../parts/use-filters.ts";
import { useSettled } from "../parts/use-settled.ts";
import type { Me } from "../rules/why-not.ts";
import { whyNot } from "../rules/why-not.ts";
import styles from "./shell.module.css";

/** Whose console this is: the partner's, the organization's, or the platform's. */
function useOwnName(me: Me): string | undefined {
  const partner = useGet(
    "/api/v1/orgs/partners/me",
    {},
    { enabled: me.scope === "partner" && whyNot(me, "GET /api/v1/orgs/partners/me") === null, freshMs: 300_000 },
  );
  return me.scope === "system" ? "Muster" : partner.data?.name;
}

/**
 * Which organization the lists show: a filter of the address that stays while navigating, so that two tabs may show
 * two.
 */
export function OrganizationPicker({ me }: { me: Me }) {
  const [{ orgId }, change] = useFilters();
  const [isOpen, setOpen] = useState(false);
  const shownId = me.orgId ?? orgId ?? "";
  const isReadable = whyNot(me, "GET /api/v1/orgs/organizations/{id}") === null;
  const chosen = useGet(
    "/api/v1/orgs/organizations/{id}",
    { params: { path: { id: shownId } } },
    { enabled: shownId !== "" && isReadable, freshMs: 300_000 },
  );
  const own = useOwnName(me);
  const name = shownId ? (chosen.data?.name ?? "Organization") : (own ?? "Muster");
  const [first = "M"] = name;
  const words = (
    <>
      <span className={styles.logo} aria-hidden>
        {first.toUpperCase()}
      </span>
      <span className={styles.owner}>
        {name}
        <small>{shownId ? (me.orgId ? "Organization" : (own ?? "One organization")) : "All organizations"}</small>
      </span>
    </>
  );
  if (me.scope === "organization") return <div className={styles.picker}>{words}</div>;
  return (
    <>
      <button type="button" className={styles.picker} aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {words}
        <ChevronDown size={15} aria-hidden />
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
