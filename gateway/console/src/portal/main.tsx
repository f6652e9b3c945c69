import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { loadDialogsAtFirstTouch } from "../parts/use-dialog-frame.ts";
import { codeOf, linkIdOf } from "../rules/portal-link.ts";
import { Portal } from "./portal.tsx";

/** The code, which leaves the address bar and the history before anything else runs. */
function takeCode(): string | null {
  const code = codeOf(location.hash);
  if (location.hash !== "") history.replaceState(null, "", location.pathname);
  return code;
}

const linkId = linkIdOf(location.pathname);
const code = takeCode();
const page =
  linkId === null ? <p>This link does not work.</p> : <Portal linkId={linkId} code={code} takeCode={takeCode} />;

loadDialogsAtFirstTouch();
createRoot(document.getElementById("app") as HTMLElement).render(<StrictMode>{page}</StrictMode>);
