import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { setCredentials } from "./api/credentials.ts";
import { prefetch, queryClient } from "./api/queries.ts";
import { accessToken, renewed, restore } from "./api/session.ts";
import { stepUp } from "./api/step-up.ts";
import { notePrefixes } from "./parts/shortcuts.ts";
import { applyTheme } from "./parts/theme.ts";
import { loadDialogsAtFirstTouch } from "./parts/use-dialog-frame.ts";
import { loadPageOf, router } from "./router.tsx";

applyTheme();
setCredentials({ accessToken, renewed, stepUp });

const loginPath = () => {
  const here = `${location.pathname}${location.search}`;
  return here === "/" ? "/login" : `/login?next=${encodeURIComponent(here)}`;
};

async function start(): Promise<void> {
  // A provider's code belongs to the sign-in page, which validates it.
  if (location.hash.startsWith("#ssoCode=")) return location.replace(`${loginPath()}${location.hash}`);
  // When the API cannot be reached, the page opens and reports that itself.
  const token = await restore(() => loadPageOf(location.pathname)).catch(() => "unknown");
  if (token === null) return location.replace(loginPath());
  void prefetch("/api/v1/auth/me");
  notePrefixes();
  loadDialogsAtFirstTouch();
  createRoot(document.getElementById("app") as HTMLElement).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}

void start();
