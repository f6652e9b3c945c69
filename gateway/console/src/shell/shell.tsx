import { Outlet } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { queryClient, useGet } from "../api/queries.ts";
import { whenSessionChanges } from "../api/session.ts";
import { MeProvider } from "../parts/me.tsx";
import { FailureState, Loading } from "../parts/states.tsx";
import { StepUpDialog } from "../parts/step-up-dialog.tsx";
import type { Me } from "../rules/why-not.ts";
import { CommandMenu } from "./command-menu.tsx";
import { Navigation } from "./navigation.tsx";
import { SessionEnded } from "./session-ended.tsx";
import styles from "./shell.module.css";
import { TopBar } from "./top-bar.tsx";

/** The frame of all pages, once the user is known. */
export function Shell() {
  const me = useGet("/api/v1/auth/me");
  const [isEnded, setEnded] = useState(false);
  useEffect(() => {
    whenSessionChanges((what) => {
      setEnded(what === "session-ended");
      if (what === "restored") void queryClient.invalidateQueries();
      if (what !== "signed-out") return;
      queryClient.clear();
      location.replace("/login?note=signed-out");
    });
  }, []);
  const user = me.data && !("actorType" in me.data) ? (me.data as Me) : null;
  return (
    <div className="frame">
      <a href="#main" className={styles.skip}>
        Skip to content
      </a>
      <header className="frame-top">{user ? <TopBar me={user} /> : <span className="frame-brand">Muster</span>}</header>
      <div className="frame-side">{user ? <Navigation me={user} /> : null}</div>
      <main className="frame-main" id="main">
        {user ? (
          <MeProvider me={user}>
            {isPlainHttp() && user.permissions.includes("organizations:write") ? <PlainHttp /> : null}
            <Outlet />
            <StepUpDialog />
            <CommandMenu me={user} />
            {isEnded ? <SessionEnded me={user} /> : null}
          </MeProvider>
        ) : me.error ? (
          <FailureState failure={me.error.failure} onRetry={() => void me.refetch()} />
        ) : (
          <Loading />
        )}
      </main>
    </div>
  );
}

const isPlainHttp = () => !isSecureContext;

const PlainHttp = () => (
  <p className={styles.line}>
    This page came over plain http: passwords and tokens can be read on the way, and passkeys do not work. Serve Muster
    over https.
  </p>
);
