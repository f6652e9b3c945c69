import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { PartsPage } from "./parts-page.tsx";

// For development alone (npm run dev, /parts.html): no build has this entry.
createRoot(document.getElementById("app") as HTMLElement).render(
  <StrictMode>
    <PartsPage />
  </StrictMode>,
);
