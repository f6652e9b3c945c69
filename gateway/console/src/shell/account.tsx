import { Link } from "@tanstack/react-router";
import { LogOut, Moon, Sun, SunMoon } from "lucide-react";
import { useState } from "react";
import { signOut } from "../api/session.ts";
import { to } from "../parts/links.ts";
import { toast } from "../parts/said.ts";
import { chooseTheme, chosenTheme, type Theme } from "../parts/theme.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import type { Me } from "../rules/why-not.ts";
import styles from "./shell.module.css";

const themes: readonly (readonly [Theme, string, typeof Sun])[] = [
  ["system", "As the system", SunMoon],
  ["light", "Light", Sun],
  ["dark", "Dark", Moon],
];

const initials = (name: string) =>
  name
    .split(/\s+/)
    .map(([first = ""]) => first)
    .filter((_, at, all) => at === 0 || at === all.length - 1)
    .join("")
    .toUpperCase();

/** The signed-in user: their profile, the theme, and the way out. */
export function Account({ me, onGo }: { me: Me; onGo?: () => void }) {
  const [theme, setTheme] = useState(chosenTheme);
  const at = themes.findIndex(([name]) => name === theme);
  const [, title, Icon] = themes[at] ?? themes[0] ?? ["system", "", SunMoon];
  const next = themes[(at + 1) % themes.length]?.[0] ?? "system";
  return (
    <div className={styles.account}>
      <Link {...to("/profile")} className={styles.user} data-tip={me.email} {...(onGo ? { onClick: onGo } : {})}>
        <span className={styles.initials} aria-hidden>
          {initials(me.name)}
        </span>
        <span>{me.name}</span>
      </Link>
      <button
        type="button"
        data-weight="quiet"
        data-size="icon"
        aria-label={`Theme: ${title}`}
        data-tip={`Theme: ${title}`}
        onClick={() => {
          chooseTheme(next);
          setTheme(next);
        }}
      >
        <Icon size={15} aria-hidden />
      </button>
      <button
        type="button"
        data-weight="quiet"
        data-size="icon"
        aria-label="Sign out"
        data-tip="Sign out"
        onClick={() => void signOut().then((failure) => failure && toast(failureSentence(failure), "failure"))}
      >
        <LogOut size={15} aria-hidden />
      </button>
    </div>
  );
}
