import { lazy, Suspense } from "react";
import { useIsUsed } from "./said.ts";

const Toaster = lazy(() => import("./toaster.tsx"));

/** The corner in which the page says what was done; its behaviour is loaded with the first sentence. */
export function Toasts() {
  return useIsUsed() ? (
    <Suspense>
      <Toaster />
    </Suspense>
  ) : null;
}
