import { Link } from "@tanstack/react-router";
import { LogOut, Moon, Search, Sun, SunMoon, UserRound } from "lucide-react";
import { useState } from "react";
import { signOut } from "../api/session.ts";
import { chooseTheme, chosenTheme, type Theme } from "../parts/theme.ts";
import { failureSentence } from "../rules/failure-sentence.ts";
import type { Me } from "../rules/why-not.ts";
import { openCommandMenu } from "./command-menu.tsx";
import { OrganizationPicker } from "./organization-picker.tsx";
import styles from "./shell.module.css";

const themes: readonly (readonly [Theme, string, typeof Sun])[] = [
  ["system", "As the system", SunMoon],
  ["light", "Light", Sun],
  ["dark", "Dark", Moon],
];

export function TopBar({ me }: { me: Me }) {
  const [theme, setTheme] = useState(chosenTheme);
  const [problem, setProblem] = useState<string | null>(null);
  const at = themes.findIndex(([name]) => name === theme);
  const [, title, Icon] = themes[at] ?? themes[0] ?? ["system", "", SunMoon];
  const next = themes[(at + 1) % themes.length]?.[0] ?? "system";
  return (
    <>
      <Link to="/" className="frame-brand">
        Muster
      </Link>
      {me.scope === "organization" ? null : <OrganizationPicker />}
      <span className={styles.grow} />
      {problem ? <span role="alert">{problem}</span> : null}
      <button type="button" onClick={openCommandMenu} aria-keyshortcuts="Control+K Meta+K">
        <Search size={16} aria-hidden />
        <span className={styles.words}>Go to …</span>
        <kbd className={styles.wide}>Ctrl K</kbd>
      </button>
      <button
        type="button"
        aria-label={`Theme: ${title}`}
        title={`Theme: ${title}`}
        onClick={() => {
          chooseTheme(next);
          setTheme(next);
        }}
      >
        <Icon size={16} aria-hidden />
      </button>
      <Link to="/profile" className={styles.user} title={me.email}>
        <UserRound size={18} aria-hidden className={styles.narrow} />
        <span className={styles.words}>{me.name}</span>
      </Link>
      <button
        type="button"
        aria-label="Sign out"
        title="Sign out"
        onClick={() => void signOut().then((failure) => failure && setProblem(failureSentence(failure)))}
      >
        <LogOut size={16} aria-hidden />
      </button>
    </>
  );
}
