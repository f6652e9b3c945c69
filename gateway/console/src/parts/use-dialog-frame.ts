import { type ComponentType, useEffect, useState } from "react";
import type { DialogFrameProps } from "./dialog-frame.tsx";

type Frame = ComponentType<DialogFrameProps>;

let frame: Frame | null = null;

async function loadFrame(): Promise<void> {
  frame = (await import("./dialog-frame.tsx")).DialogFrame;
}

/**
 * Loads the frame of dialogs when the page is first touched, so that it is there with the first dialog. One that cannot
 * be loaded then is asked for again by the dialog itself.
 */
export function loadDialogsAtFirstTouch(): void {
  const ended = new AbortController();
  const load = () => {
    ended.abort();
    void loadFrame().catch(() => null);
  };
  for (const touch of ["pointerdown", "keydown"] as const)
    document.addEventListener(touch, load, { capture: true, signal: ended.signal });
}

/** The frame of dialogs; null until it is loaded. One that is there shows at once, without a boundary's delay. */
export function useDialogFrame(): Frame | null {
  const [found, find] = useState<{ frame: Frame | null; error?: unknown }>(() => ({ frame }));
  useEffect(() => {
    if (found.frame) return;
    let isGone = false;
    void loadFrame().then(
      () => isGone || find({ frame }),
      (error: unknown) => isGone || find({ frame: null, error }),
    );
    return () => {
      isGone = true;
    };
  }, [found.frame]);
  if (found.error !== undefined) throw found.error;
  return found.frame;
}
