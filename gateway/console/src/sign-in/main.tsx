import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { applyTheme } from "../parts/theme.ts";
import { linkToken } from "../rules/link-token.ts";
import { Invitation } from "./invitation.tsx";
import { Login } from "./login.tsx";
import { NewPassword } from "./new-password.tsx";
import { takeArrival } from "./sso-arrival.ts";
import { Unsubscribe } from "./unsubscribe.tsx";

applyTheme();
// Before anything else runs: the sign-in code is removed from address bar and history.
const token = linkToken(location);
const arrival = takeArrival();

// A link that is opened while this page is shown changes nothing but the fragment after #.
addEventListener("hashchange", () => location.reload());

const [, segment] = location.pathname.split("/");
const page =
  segment === "accept-invite" ? (
    <Invitation token={token} />
  ) : segment === "reset-password" ? (
    <NewPassword token={token} />
  ) : segment === "unsubscribe" ? (
    <Unsubscribe token={token} />
  ) : (
    <Login arrival={arrival} />
  );

createRoot(document.getElementById("app") as HTMLElement).render(<StrictMode>{page}</StrictMode>);
