import { Outlet } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, useState } from "react";
import { queryClient, useGet } from "../api/queries.ts";
import { whenSessionChanges } from "../api/session.ts";
import { Runner } from "../operations/runner.tsx";
import { Dialog, DialogActions } from "../parts/dialog.tsx";
import { MeProvider } from "../parts/me.tsx";
import { FailureState, Loading } from "../parts/states.tsx";
import { StepUpDialog } from "../parts/step-up-dialog.tsx";
import { Toasts } from "../parts/toasts.tsx";
import { Tooltips } from "../parts/tooltips.tsx";
import type { Me } from "../rules/why-not.ts";
import { Account } from "./account.tsx";
import { BottomNavigation } from "./bottom-navigation.tsx";
import { CommandMenu, openCommandMenu } from "./command-menu.tsx";
import { Navigation, NavigationKeys } from "./navigation.tsx";
import { OrganizationPicker } from "./organization-picker.tsx";
import { FactorGate } from "./required-factor.tsx";
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
  const [isMoreOpen, openMore] = useState(false);
  return (
    <div className="frame">
      <a href="#main" className={styles.skip}>
        Skip to content
      </a>
      {user ? (
        <MeProvider me={user}>
          <FactorGate me={user}>
            <Runner>
              <header className="frame-side">
                <Side me={user} />
              </header>
              <section className="frame-top" aria-label="Where you are">
                <TopBar />
              </section>
              <main className="frame-main" id="main">
                {isPlainHttp() && user.permissions.includes("organizations:write") ? <PlainHttp /> : null}
                <Outlet />
              </main>
              <div className="frame-bottom">
                <BottomNavigation me={user} onMore={() => openMore(true)} />
              </div>
              {isMoreOpen ? (
                <Dialog title="More" onClose={() => openMore(false)}>
                  <Side me={user} onGo={() => openMore(false)} />
                  <DialogActions>
                    <button type="button" onClick={() => openMore(false)}>
                      Close
                    </button>
                  </DialogActions>
                </Dialog>
              ) : null}
              <NavigationKeys me={user} />
              <StepUpDialog />
              <CommandMenu me={user} />
              <Tooltips />
            </Runner>
          </FactorGate>
          <Toasts />
          {isEnded ? <SessionEnded me={user} /> : null}
        </MeProvider>
      ) : (
        <main className="frame-main" id="main">
          {me.error ? <FailureState failure={me.error.failure} onRetry={() => void me.refetch()} /> : <Loading />}
        </main>
      )}
    </div>
  );
}

/** Whose fleet it is, the search, all pages, and the user. */
function Side({ me, onGo }: { me: Me; onGo?: () => void }) {
  const go = onGo ? { onGo } : {};
  return (
    <>
      <OrganizationPicker me={me} />
      <button
        type="button"
        className={styles.jump}
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => {
          onGo?.();
          openCommandMenu();
        }}
      >
        <Search size={15} aria-hidden />
        Search or run …<kbd>Ctrl K</kbd>
      </button>
      <Navigation me={me} {...go} />
      <Account me={me} {...go} />
    </>
  );
}

const isPlainHttp = () => !isSecureContext;

const PlainHttp = () => (
  <p className={styles.line}>
    This page came over plain http: passwords and tokens can be read on the way, and passkeys do not work. Serve Muster
    over https.
  </p>
);
