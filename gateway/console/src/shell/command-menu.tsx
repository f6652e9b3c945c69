import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useEffect, useState } from "react";
import { api } from "../api/api.ts";
import { Dialog, DialogActions, isDialogOpen } from "../parts/dialog.tsx";
import { recentDevices } from "../parts/recent-devices.ts";
import { useShortcut } from "../parts/shortcuts.ts";
import { useFilters } from "../parts/use-filters.ts";
import type { Me } from "../rules/why-not.ts";
import { pagesFor } from "./navigation.tsx";
import styles from "./shell.module.css";

const opened = new EventTarget();
export const openCommandMenu = () => opened.dispatchEvent(new Event("open"));

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const keysOfPages = [
  ["/", "The filter of a list"],
  ["j k", "The next and the previous row"],
  ["Enter", "Opens the row"],
  ["x", "Selects the row, where several can be changed at once"],
  ["[ ]", "From a record to those above and below it in the list"],
  ["r", "Read the list again"],
  ["g d", "Devices; g o, g a, g w, g k, g p, g z, g e, g s, g n the other pages"],
  ["Ctrl K", "This menu"],
] as const;

/** Goes to a page by its name, to a device by its host name, and to records by an id that was pasted. */
export function CommandMenu({ me }: { me: Me }) {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const [{ orgId }] = useFilters();
  const navigate = useNavigate();
  const open = () => {
    setText("");
    setProblem(null);
    setOpen(true);
  };
  useShortcut("?", open);
  useOpenKey(open);
  if (!isOpen) return null;

  const wanted = text.trim();
  const found = pagesFor(me).filter(({ title }) => title.toLowerCase().includes(wanted.toLowerCase()));
  const close = () => setOpen(false);
  const go = (to: string, search: object = { orgId }) => {
    close();
    void navigate({ to, search: search as never });
  };

  async function submit(event: FormEvent) {
    event.preventDefault();
    if (wanted === "") return;
    if (!uuid.test(wanted)) {
      const [first] = found;
      return first ? go(first.to) : go("/devices", { orgId, search: wanted });
    }
    setProblem("Looking …");
    const page = await pageOfId(wanted);
    if (page !== null) return page === "/" ? go(page, { orgId: wanted }) : go(page);
    setProblem("No device, audit row, webhook or organization that you may see has this id.");
  }

  return (
    <Dialog title="Go to" onClose={close}>
      <form onSubmit={submit} className={styles.form}>
        <label>
          Page, host name or id
          <input value={text} autoFocus spellCheck={false} onChange={(event) => setText(event.target.value)} />
        </label>
        <p role="status">{problem}</p>
        <ul className={styles.list}>
          {recentDevices()
            .filter(({ hostname }) => hostname.toLowerCase().includes(wanted.toLowerCase()))
            .map(({ id, hostname }) => (
              <li key={id}>
                <button type="button" onClick={() => go(`/devices/${id}`)}>
                  {hostname} <span className="soft">device, opened before</span>
                </button>
              </li>
            ))}
          {found.map(({ to, title }) => (
            <li key={to}>
              <button type="button" onClick={() => go(to)}>
                {title}
              </button>
            </li>
          ))}
          {wanted !== "" && !uuid.test(wanted) ? (
            <li>
              <button type="button" onClick={() => go("/devices", { orgId, search: wanted })}>
                Devices named “{wanted}”
              </button>
            </li>
          ) : null}
        </ul>
        <details>
          <summary>Keys</summary>
          <dl>
            {keysOfPages.map(([keys, what]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </details>
        <DialogActions>
          <button type="button" onClick={close}>
            Close
          </button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Ctrl+K or ⌘K, and the button of the top bar, open the menu unless a dialog is open. */
function useOpenKey(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || isDialogOpen()) return;
      event.preventDefault();
      open();
    };
    document.addEventListener("keydown", onKey);
    opened.addEventListener("open", open);
    return () => {
      document.removeEventListener("keydown", onKey);
      opened.removeEventListener("open", open);
    };
  });
}

/** The page of the record with an id; "/" for an organization, null for none that the user may see. */
async function pageOfId(id: string): Promise<string | null> {
  const params = { params: { path: { id } } };
  const isThere = (request: Promise<{ response: Response }>) => request.then(({ response }) => response.ok);
  if (await isThere(api.GET("/api/v1/devices/{id}", params))) return `/devices/${id}`;
  if (await isThere(api.GET("/api/v1/audit-logs/logs/{id}", params))) return `/audit/${id}`;
  if (await isThere(api.GET("/api/v1/webhooks/{id}", params))) return `/webhooks/${id}`;
  return (await isThere(api.GET("/api/v1/orgs/organizations/{id}", params))) ? "/" : null;
}
