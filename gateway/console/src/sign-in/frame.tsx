import { type ReactNode, useEffect, useRef } from "react";
import { textOn } from "../rules/accent.ts";
import styles from "./sign-in.module.css";

export type Branding = { logo_url: string | null; accent_color: string | null; headline: string | null };

/** The card that all pages of this entry share; its heading gets the focus when it changes. */
export function Frame({
  title,
  branding,
  children,
}: {
  title: string;
  branding?: Branding | null;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · Muster`;
    // The first page lets the browser keep its own order.
    if (!isFirst.current) heading.current?.focus();
    isFirst.current = false;
  }, [title]);
  useEffect(() => {
    const accent = branding?.accent_color;
    if (!accent) return;
    const { style } = document.documentElement;
    style.setProperty("--brand", accent);
    style.setProperty("--on-brand", textOn(accent));
  }, [branding]);
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <header className={styles.brand}>
          {branding?.logo_url ? (
            <img src={branding.logo_url} alt="" className={styles.logo} />
          ) : (
            <span className={styles.mark}>Muster</span>
          )}
          {branding?.headline ? <p className={styles.headline}>{branding.headline}</p> : null}
        </header>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children}
      </div>
    </main>
  );
}

/** What went wrong, read aloud when it appears. */
export function Problem({ children }: { children: ReactNode }) {
  return (
    <div role="alert" className={children ? styles.problem : styles.none}>
      {children}
    </div>
  );
}

/** The id by which an administrator finds a failed sign-in. */
export function AttemptId({ id }: { id: string | null }) {
  return id === null ? null : (
    <p className={styles.hint}>
      Your administrator finds the cause under <code>{id}</code>.
    </p>
  );
}

export function Note({ children }: { children: ReactNode }) {
  return (
    <p role="status" className={styles.note}>
      {children}
    </p>
  );
}
