import { useEffect, useState } from "react";

/** Milliseconds after the last key before a typed text is searched: typing makes one request, not one per letter. */
export const typingMs = 250;

/** A text as it was when typing last paused. */
export function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), typingMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
