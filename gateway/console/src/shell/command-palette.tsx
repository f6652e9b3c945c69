import { Autocomplete } from "@base-ui/react/autocomplete";
import { CornerDownLeft, Search } from "lucide-react";
import { useLayoutEffect, useRef, useState } from "react";
import { Dialog } from "../parts/dialog.tsx";
import { useSettled } from "../parts/use-settled.ts";
import { marked } from "../rules/command.ts";
import type { Me } from "../rules/why-not.ts";
import styles from "./command-palette.module.css";
import { type Hit, useHits } from "./use-hits.tsx";

type CommandPaletteProps = { me: Me; onClose(): void; onKeys(): void };

/** Finds devices, users, webhooks, keys, customers and pages by their names, and runs operations: "disable ada". */
export default function CommandPalette({ me, onClose, onKeys }: CommandPaletteProps) {
  const [text, setText] = useState("");
  const search = useSettled(text.trim());
  const { groups, isSearching, words } = useHits(me, search);
  const list = useWholeRows(groups);
  const isSettled = search === text.trim() && !isSearching;
  const choose = ({ run }: Hit) => {
    onClose();
    // After the dialog has given the focus back: a question that follows returns it there.
    setTimeout(run);
  };
  return (
    <Dialog title="Search or run" onClose={onClose} isPlain>
      <Autocomplete.Root
        items={groups}
        value={text}
        onValueChange={setText}
        mode="none"
        inline
        open
        autoHighlight="always"
        keepHighlight
        itemToStringValue={(hit: Hit) => hit.title}
      >
        <div className={styles.field}>
          <Search size={18} aria-hidden />
          <Autocomplete.Input
            aria-label="A name, an id, a page or an operation"
            placeholder="Search, or run an operation …"
            spellCheck={false}
            maxLength={255}
          />
        </div>
        <Autocomplete.List ref={list} className={styles.list}>
          {(group: (typeof groups)[number]) => (
            <Autocomplete.Group key={group.name} items={group.items} className={styles.group}>
              <Autocomplete.GroupLabel className={styles.label}>{group.name}</Autocomplete.GroupLabel>
              <Autocomplete.Collection>
                {(hit: Hit) => (
                  <Autocomplete.Item key={hit.key} value={hit} className={styles.hit} onClick={() => choose(hit)}>
                    <hit.icon size={16} strokeWidth={1.75} className={hit.tone} aria-hidden />
                    <span>
                      <Marked text={hit.title} search={words} /> <span className="soft">{hit.note}</span>
                    </span>
                    <CornerDownLeft size={14} aria-hidden />
                  </Autocomplete.Item>
                )}
              </Autocomplete.Collection>
            </Autocomplete.Group>
          )}
        </Autocomplete.List>
        <p role="status" className={styles.none}>
          {!isSettled ? "Searching …" : groups.length === 0 ? `Nothing that you may see is called “${search}”.` : ""}
        </p>
      </Autocomplete.Root>
      <footer className={styles.keys}>
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>↵</kbd> open or run
        </span>
        <button type="button" data-weight="link" onClick={onKeys}>
          All keys
        </button>
        <button type="button" data-weight="link" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}

function endAtRow(box: HTMLElement): void {
  box.style.maxHeight = "";
  if (box.scrollHeight <= box.clientHeight) return;
  const ends = [...box.querySelectorAll<HTMLElement>('[role="option"]')].map(
    ({ offsetTop, offsetHeight }) => offsetTop + offsetHeight,
  );
  const last = ends.filter((end) => end <= box.clientHeight).at(-1);
  if (last !== undefined) box.style.maxHeight = `${last}px`;
}

/** Ends the list below a whole row: half of one looks like a fault. */
function useWholeRows(groups: unknown) {
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows have other heights
  useLayoutEffect(() => {
    const fit = () => list.current && endAtRow(list.current);
    fit();
    addEventListener("resize", fit);
    return () => removeEventListener("resize", fit);
  }, [groups]);
  return list;
}

function Marked({ text, search }: { text: string; search: string }) {
  const [before, match, after] = marked(text, search);
  return (
    <>
      {before}
      {match ? <mark>{match}</mark> : null}
      {after}
    </>
  );
}
