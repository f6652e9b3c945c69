import { QueryClientProvider } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { queryClient } from "../api/queries.ts";
import { Loading } from "../parts/states.tsx";
import { Tooltips } from "../parts/tooltips.tsx";
import { textOn } from "../rules/accent.ts";
import { askForLink, openSession, type PortalLink, type PortalPage, pageOf } from "./opening.ts";
import styles from "./portal.module.css";
import { Views } from "./views.tsx";

type State = { at: "opening" } | { at: "open"; link: PortalLink } | { at: "ended"; why: string };

const used = "This link was used already, has expired or was revoked.";
const over = "This session has ended: its link has expired or was revoked.";

/** The webhooks of one organization, for as long as the session of a link lasts. */
export function Portal({ linkId, code, takeCode }: { linkId: string; code: string | null; takeCode(): string | null }) {
  const [page, setPage] = useState<PortalPage | null>(null);
  const [state, setState] = useState<State>({ at: "opening" });
  const isStarted = useRef(false);

  async function open(wanted: string | null, of: PortalPage): Promise<void> {
    setState({ at: "opening" });
    const end = () => setState({ at: "ended", why: over });
    const own = wanted === null ? null : await openSession({ linkId, code: wanted }, end);
    const sent = own === null ? await askForLink(linkId, of) : null;
    const link = own ?? (sent === null ? null : await openSession(sent, end));
    queryClient.clear();
    setState(link === null ? { at: "ended", why: used } : { at: "open", link });
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: a code works once
  useEffect(() => {
    if (isStarted.current) return;
    isStarted.current = true;
    void pageOf(linkId).then((of) => {
      setPage(of);
      brand(of);
      void open(code, of);
      // A link that is opened while this page is shown changes nothing but the fragment.
      addEventListener("hashchange", () => {
        const next = takeCode();
        if (next !== null) void open(next, of);
      });
    });
  }, []);

  useEffect(() => {
    if (state.at !== "open") return;
    const leftMs = new Date(state.link.expiresAt).getTime() - Date.now();
    const timer = setTimeout(() => setState({ at: "ended", why: over }), Math.max(0, leftMs));
    return () => clearTimeout(timer);
  }, [state]);

  return (
    <main className={styles.page}>
      {page?.branding ? <Brand of={page.branding} /> : null}
      {state.at === "opening" ? <Loading what="Opening" /> : null}
      {state.at === "ended" && page !== null ? (
        <Ended why={state.why} page={page} onAgain={() => void open(null, page)} />
      ) : null}
      {state.at === "open" ? (
        <QueryClientProvider client={queryClient}>
          <Views link={state.link} />
          <Tooltips />
        </QueryClientProvider>
      ) : null}
    </main>
  );
}

function brand({ branding }: PortalPage): void {
  const accent = branding?.accent_color;
  if (!accent) return;
  const { style } = document.documentElement;
  style.setProperty("--brand", accent);
  style.setProperty("--on-brand", textOn(accent));
}

const Brand = ({ of: { logo_url: logo, headline } }: { of: NonNullable<PortalPage["branding"]> }) => (
  <header className={styles.brand}>
    {logo ? <img src={logo} alt="" /> : null}
    {headline ? <p>{headline}</p> : null}
  </header>
);

function Ended({ why, page, onAgain }: { why: string; page: PortalPage; onAgain(): void }) {
  const isFramed = window.parent !== window && page.embedOrigins.length > 0;
  return (
    <>
      <h1>Webhooks</h1>
      <p role="alert">{why}</p>
      {isFramed ? (
        <p>
          <button type="button" data-weight="primary" onClick={onAgain}>
            Open again
          </button>
        </p>
      ) : null}
      {page.refreshUrl ? (
        <p>
          <a href={page.refreshUrl} target="_top" rel="noreferrer">
            Open it from the application again
          </a>
        </p>
      ) : null}
    </>
  );
}
