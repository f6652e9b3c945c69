import { Link, useLocation, useNavigate } from "@tanstack/react-router";
import {
  Activity,
  Building2,
  Gauge,
  KeyRound,
  MonitorSmartphone,
  PackageCheck,
  ScrollText,
  Settings,
  Users,
  Webhook,
} from "lucide-react";
import { type SectionName, sections, type Tab, tabsFor } from "../parts/sections.ts";
import { useShortcut } from "../parts/shortcuts.ts";
import { searchFor, useFilters } from "../parts/use-filters.ts";
import { useScrollToCurrent } from "../parts/use-scroll-to-current.ts";
import type { Me } from "../rules/why-not.ts";
import styles from "./shell.module.css";

/** The entries, in the order of their value. */
export const entries = [
  { section: "overview", title: "Overview", icon: Gauge, keys: "g o" },
  { section: "devices", title: "Devices", icon: MonitorSmartphone, keys: "g d" },
  { section: "audit", title: "Audit", icon: ScrollText, keys: "g a" },
  { section: "webhooks", title: "Webhooks", icon: Webhook, keys: "g w" },
  { section: "keys", title: "Keys", icon: KeyRound, keys: "g k" },
  { section: "users", title: "People", icon: Users, keys: "g p" },
  { section: "tenants", title: "Organizations", icon: Building2, keys: "g z" },
  { section: "releases", title: "Releases", icon: PackageCheck, keys: "g e" },
  { section: "settings", title: "Settings", icon: Settings, keys: "g s" },
  { section: "operations", title: "Operations", icon: Activity, keys: "g n" },
] as const satisfies readonly { section: SectionName; title: string; icon: typeof Gauge; keys: string }[];

type Shown = Omit<(typeof entries)[number], "title"> & { to: string; title: string };

/** Entries whose pages would show something to this user; each leads to the first of them, and has its name. */
export const entriesFor = (me: Me): Shown[] =>
  entries.flatMap((entry) => {
    const [first] = tabsFor(me, entry.section);
    if (!first) return [];
    return [{ ...entry, to: first.to, title: first.to === sections[entry.section][0].to ? entry.title : first.title }];
  });

/** Every page that would show something to this user. */
export const pagesFor = (me: Me): readonly Tab[] => entries.flatMap(({ section }) => tabsFor(me, section));

export function Navigation({ me }: { me: Me }) {
  const [{ orgId }] = useFilters();
  const { pathname } = useLocation();
  const row = useScrollToCurrent<HTMLUListElement>();
  return (
    <nav aria-label="Main">
      <ul ref={row} className={styles.nav}>
        {entriesFor(me).map((entry) => (
          <li key={entry.section}>
            <Link
              to={entry.to}
              search={searchFor({ orgId })}
              activeOptions={{ exact: true, includeSearch: false }}
              aria-current={isWithin(entry.section, pathname) ? "true" : undefined}
            >
              <entry.icon size={17} aria-hidden />
              {entry.title}
            </Link>
            <Shortcut keys={entry.keys} to={entry.to} orgId={orgId} />
          </li>
        ))}
      </ul>
    </nav>
  );
}

const isWithin = (section: SectionName, pathname: string) =>
  sections[section].some(({ to }) => pathname === to || (to !== "/" && pathname.startsWith(`${to}/`)));

function Shortcut({ keys, to, orgId }: { keys: string; to: string; orgId: string | undefined }) {
  const navigate = useNavigate();
  useShortcut(keys, () => void navigate({ to, search: searchFor({ orgId }) }));
  return null;
}
