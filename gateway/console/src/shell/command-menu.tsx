import { lazy, Suspense, useEffect, useState } from "react";
import { isDialogOpen } from "../parts/dialog.tsx";
import { useShortcut } from "../parts/shortcuts.ts";
import type { Me } from "../rules/why-not.ts";
import { KeysDialog } from "./keys-dialog.tsx";

const CommandPalette = lazy(() => import("./command-palette.tsx"));

const opened = new EventTarget();
export const openCommandMenu = () => opened.dispatchEvent(new Event("open"));

/** Opens the search by Ctrl+K or ⌘K, and the list of keys by `?`. What it does is loaded at first use. */
export function CommandMenu({ me }: { me: Me }) {
  const [open, setOpen] = useState<"palette" | "keys" | null>(null);
  useShortcut("?", () => setOpen("keys"));
  useOpenKey(() => setOpen("palette"));
  if (open === "keys") return <KeysDialog onClose={() => setOpen(null)} />;
  return open === "palette" ? (
    <Suspense>
      <CommandPalette me={me} onClose={() => setOpen(null)} onKeys={() => setOpen("keys")} />
    </Suspense>
  ) : null;
}

/** Ctrl+K or ⌘K, and the button of the side, open the search unless a dialog is open. */
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
